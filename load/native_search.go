package load

import (
	"fmt"

	"bflow.dev/bflow/runplan"
)

// nativeSearch reads a search; level is a stage without a load value.
func (t *translator) nativeSearch(v value) {
	if !v.set() {
		return
	}
	f := v.fields()
	low, high, over := f.must("low"), f.must("high"), f.get("over")
	s := &runplan.Search{Goodput: f.must("goodput").fraction(), Low: low.positive(), High: high.positive(), Repeats: f.get("repeats").integer(1)}
	if over.set() {
		s.Over = over.word(runplan.SearchRate, runplan.SearchConcurrency)
	}
	if x := f.get("tolerance"); x.set() {
		s.Tolerance = x.positive()
	}
	if s.Over == runplan.SearchConcurrency {
		low.integer(1)
		high.integer(1)
	}
	t.searchLevel(f.get("level"), s)
	f.close()
	if s.Low > 0 && s.High > 0 && s.Low >= s.High {
		v.errorf("low %v is not below high %v", s.Low, s.High)
	}
	t.m.Search = s
}

func (t *translator) searchLevel(v value, s *runplan.Search) {
	if !v.set() {
		return
	}
	level := runplan.Stage{Name: "level", Measure: true, Shape: runplan.ShapeOpen}
	if s.Over == runplan.SearchConcurrency {
		level.Shape = runplan.ShapeClosed
	}
	f := v.fields()
	t.shapeWords(f, &level, nil)
	if level.Shape == runplan.ShapeOpen && !f.get("arrival").set() {
		level.Arrival = "poisson" // as a search without a level
	}
	f.close()
	t.checkBound(v, level)
	s.Level = &level
}

// sweep is the spacing of rates between one request at a time and as many as the server takes.
type sweep struct {
	at      value
	points  int // the two ends included
	arrival string
	cap     int
	knee    int // further points where the server stops keeping up
}

func (t *translator) nativeSweep(v, data value) {
	if !v.set() {
		return
	}
	f := v.fields()
	s := sweep{
		at: v, points: max(f.countOr(10, "points"), 3), arrival: f.get("arrival").word("constant", "poisson"),
		cap: f.countOr(512, "max_inflight"), knee: f.get("knee").integer(0),
	}
	bound := runplan.Stage{
		Measure: true, Duration: positiveDuration(f.get("duration"), 0), Requests: f.get("requests").integer(1), PauseAfter: f.get("pause_after").duration(),
	}
	f.close()
	if t.over.maxSeconds.set() {
		bound.Duration = t.over.maxSeconds.positiveSeconds()
	}
	if t.over.maxRequests.set() {
		bound.Requests = t.over.maxRequests.integer(1)
	}
	if s.points+s.knee > maxList {
		v.errorf("a sweep of %d points: the limit is %d", s.points+s.knee, maxList)
		return
	}
	for _, stage := range s.stages(len(t.m.Stages)) {
		stage.Measure, stage.Duration, stage.Requests, stage.PauseAfter = true, bound.Duration, bound.Requests, bound.PauseAfter
		t.keepData(v, &stage, t.nativeData(data.expand(nil)))
		t.addStage(v, stage)
	}
}

// stages lists the stages of a sweep whose first one has index first: the two ends, even points r0 < r <= r1, and the
// points around the knee, which lie between two of the even ones.
func (s sweep) stages(first int) []runplan.Stage {
	out := []runplan.Stage{
		{Name: "sweep-low", Shape: runplan.ShapeClosed, Concurrency: 1},
		{Name: "sweep-high", Shape: runplan.ShapeThroughput, MaxInflight: s.cap},
	}
	open := runplan.Stage{Shape: runplan.ShapeOpen, Arrival: s.arrival, MaxInflight: s.cap}
	even := s.points - 2
	for i := 1; i <= even; i++ {
		open.Name = fmt.Sprintf("sweep-%d", i)
		open.Between = &runplan.Between{Low: first, High: first + 1, Fraction: float64(i) / float64(even)}
		out = append(out, open)
	}
	for i := 1; i <= s.knee; i++ {
		open.Name = fmt.Sprintf("knee-%d", i)
		open.Between = &runplan.Between{Low: first + 2, High: first + 1 + even, Fraction: float64(i) / float64(s.knee+1), Knee: true}
		out = append(out, open)
	}
	return out
}

// nativeRecord reads what is kept beside rows and distributions.
func (t *translator) nativeRecord(v value) {
	if !v.set() {
		return
	}
	f := v.fields()
	t.m.Record = &runplan.Record{
		Gaps: f.get("gaps").boolean(), Texts: f.get("texts").integer(0),
		Slice: positiveDuration(f.get("slice"), 0), Parquet: f.get("parquet").boolean(),
	}
	f.close()
}
