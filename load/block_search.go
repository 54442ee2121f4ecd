package load

import (
	"cmp"
	"fmt"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// addSearch translates a search; its level is a stage without a load value.
func addSearch(d *tool.Draft, s *Search) {
	if s == nil {
		return
	}
	d.Search = &runplan.Search{
		Goodput: s.Goodput, Low: s.Low, High: s.High, Over: s.Over, Tolerance: s.Tolerance, Repeats: s.Repeats,
	}
	l := s.Level
	if l == nil {
		return
	}
	level := runplan.Stage{Name: "level", Measure: true, Shape: s.levelShape()}
	level.PauseAfter = runplan.Duration(l.PauseAfter)
	l.words().put(&level, 0, "poisson") // as a search without a level
	b := overridden(d, l.bounds(), 0)
	setLimits(d, &level, b, "search.level", l.SkipFirst, l.SkipLast)
	for i := range l.Stop {
		level.Stop = append(level.Stop, l.Stop[i].plan(0))
	}
	d.Search.Level = &level
}

// levelShape is the shape of a level.
func (s *Search) levelShape() string {
	if s.Over == runplan.SearchConcurrency {
		return runplan.ShapeClosed
	}
	return runplan.ShapeOpen
}

// addSweep adds the stages of a sweep.
func addSweep(d *tool.Draft, s *Sweep, data *NativeData) {
	if s == nil {
		return
	}
	at := d.Block.Below("sweep")
	b := overridden(d, tool.Bounds{Duration: runplan.Duration(s.Duration), Requests: s.Requests}, 0)
	for _, stage := range s.stages(len(d.Stages)) {
		stage.Measure, stage.PauseAfter = true, runplan.Duration(s.PauseAfter)
		stage.Duration, stage.Requests = b.Duration, b.Requests
		d.KeepData(at, &stage, data.plan(0))
		d.AddStage(at, stage)
	}
}

// stages lists the stages of a sweep whose first one has index first: the two ends, even points r0 < r <= r1, and the
// points around the knee, which lie between two of the even ones.
func (s *Sweep) stages(first int) []runplan.Stage {
	out := []runplan.Stage{
		{Name: "sweep-low", Shape: runplan.ShapeClosed, Concurrency: 1},
		{Name: "sweep-high", Shape: runplan.ShapeThroughput, MaxInflight: s.MaxInflight},
	}
	open := runplan.Stage{Shape: runplan.ShapeOpen, Arrival: cmp.Or(s.Arrival, "constant"), MaxInflight: s.MaxInflight}
	even := s.Points - 2
	for i := 1; i <= even; i++ {
		open.Name = fmt.Sprintf("sweep-%d", i)
		open.Between = &runplan.Between{Low: first, High: first + 1, Fraction: float64(i) / float64(even)}
		out = append(out, open)
	}
	for i := 1; i <= s.Knee; i++ {
		open.Name = fmt.Sprintf("knee-%d", i)
		between := float64(i) / float64(s.Knee+1)
		open.Between = &runplan.Between{Low: first + 2, High: first + 1 + even, Fraction: between, Knee: true}
		out = append(out, open)
	}
	return out
}
