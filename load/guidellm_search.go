package load

import (
	"math"
	"time"

	"bflow.dev/bflow/runplan"
)

// guideSearch reads profile goodput: the number of streams whose requests meet the objectives of metrics.slo is
// doubled until it is too high, then bisected.
func (t *translator) guideSearch(g guide, p guideProfile) {
	f := p.fields
	s := &runplan.Search{
		Goodput: f.numberOr("target_attainment", 0.95), Over: runplan.SearchConcurrency, Tolerance: f.numberOr("tolerance", 0.1),
		Low: float64(f.countOr(4, "initial_streams")), High: float64(f.countOr(1024, "max_streams")),
	}
	f.noted("has no effect here: a search ends when its bracket is narrow enough, and judges with a confidence of 0.95", "max_probes", "confidence")
	at := g.profileAt()
	switch {
	case s.Goodput >= 1:
		f.get("target_attainment").errorf("want a share below 1, found %v", s.Goodput)
	case s.Low >= s.High:
		at.errorf("initial_streams %v is not below max_streams %v", s.Low, s.High)
	case t.slo == nil:
		at.errorf("kind \"goodput\" needs the objectives of metrics.slo")
	}
	level := runplan.Stage{Name: "level", Measure: true, Shape: runplan.ShapeClosed}
	b := t.guideBounds(g, point{at: at, stage: level, last: true})
	level.Duration, level.Requests, level.Stop = b.duration, b.requests, b.stop
	level.Ramp = f.get("rampup_duration").seconds(time.Second)
	level.SkipFirst, level.SkipLast = f.get("warmup").trim(b), f.get("cooldown").trim(b)
	t.checkBound(at, level)
	s.Level, t.m.Search = &level, s
	seed := t.m.Data.Seed
	t.m.Data, _ = t.guideData(g, nil)
	t.m.Data.Seed = seed
}

// kneePoints reads profile knee: a closed loop per number of streams. The report finds the knee in any such series.
func kneePoints(g guide, p guideProfile) []point {
	f := p.fields
	if v := f.get("adaptive"); v.boolean() {
		v.needsTool("a second pass around the knee")
	}
	f.ignore("points_each_side", "max_step")
	var out []point
	for i, x := range kneeStreams(g, f) {
		out = append(out, point{at: g.profileAt(), index: i, load: &x, stage: runplan.Stage{Shape: runplan.ShapeClosed, Concurrency: int(x)}})
	}
	return out
}

// kneeStreams are at least five numbers of streams, upwards: listed, or evenly spaced between two.
func kneeStreams(g guide, f *fields) []float64 {
	list, low, high, n := f.get("initial_streams"), f.get("min_streams"), f.get("max_streams"), f.get("count")
	if list.set() {
		xs := list.numbers(true)
		for i := range xs {
			if i > 0 && xs[i] <= xs[i-1] {
				list.errorf("want numbers of streams in ascending order")
				break
			}
		}
		if len(xs) < 5 {
			list.errorf("want at least five numbers of streams, found %d", len(xs))
		}
		return xs
	}
	if count(low, high, n) < 3 {
		g.profileAt().errorf("kind \"knee\" needs initial_streams, or min_streams, max_streams and count")
		return nil
	}
	from, to, points := low.integer(1), high.integer(1), min(n.integer(5), MaxList)
	var xs []float64
	for i := range points {
		x := math.Round(float64(from) + float64(to-from)*float64(i)/float64(points-1))
		if len(xs) == 0 || x > xs[len(xs)-1] {
			xs = append(xs, x)
		}
	}
	return xs
}
