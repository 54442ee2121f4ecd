package guidellm

import (
	"math"
	"time"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// readSearch reads profile goodput: the number of streams whose requests meet the objectives of metrics.slo is
// doubled until it is too high, then bisected.
func readSearch(d *tool.Draft, g block, p profile) {
	f := p.fields
	s := &runplan.Search{
		Goodput: f.NumberOr("target_attainment", 0.95), Over: runplan.SearchConcurrency,
		Tolerance: f.NumberOr("tolerance", 0.1),
		Low:       float64(f.CountOr(4, "initial_streams")), High: float64(f.CountOr(1024, "max_streams")),
	}
	f.Noted("has no effect here: a search ends when its bracket is narrow enough, and judges with a confidence of 0.95",
		"max_probes", "confidence")
	at := g.profileAt()
	switch {
	case s.Goodput >= 1:
		f.Get("target_attainment").Errorf("want a share below 1, found %v", s.Goodput)
	case s.Low >= s.High:
		at.Errorf("initial_streams %v is not below max_streams %v", s.Low, s.High)
	case d.SLO == nil:
		at.Errorf("kind \"goodput\" needs the objectives of metrics.slo")
	}
	level := runplan.Stage{Name: "level", Measure: true, Shape: runplan.ShapeClosed}
	b := readBounds(d, g, point{at: at, stage: level, last: true})
	level.Duration, level.Requests, level.Stop = b.Duration, b.Requests, b.stop
	level.Ramp = f.Get("rampup_duration").Seconds(time.Second)
	level.SkipFirst, level.SkipLast = tool.ReadTrim(f.Get("warmup"), b.Bounds), tool.ReadTrim(f.Get("cooldown"), b.Bounds)
	d.CheckBound(at, level)
	s.Level, d.Search = &level, s
	seed := d.Data.Seed
	d.Data, _ = readData(d, g, nil)
	d.Data.Seed = seed
}

// kneePoints reads profile knee: a closed loop per number of streams. The report finds the knee in any such series.
func kneePoints(g block, p profile) []point {
	f := p.fields
	if v := f.Get("adaptive"); v.Bool() {
		v.NeedsTool("a second pass around the knee")
	}
	f.Ignore("points_each_side", "max_step")
	var out []point
	for i, x := range kneeStreams(g, f) {
		s := runplan.Stage{Shape: runplan.ShapeClosed, Concurrency: int(x)}
		out = append(out, point{at: g.profileAt(), index: i, load: &x, stage: s})
	}
	return out
}

// kneeStreams are at least five numbers of streams, upwards: listed, or evenly spaced between two.
func kneeStreams(g block, f *tool.Fields) []float64 {
	list, n := f.Get("initial_streams"), f.Get("count")
	low, high := f.Get("min_streams"), f.Get("max_streams")
	if list.IsSet() {
		xs := list.Numbers(true)
		for i := range xs {
			if i > 0 && xs[i] <= xs[i-1] {
				list.Errorf("want numbers of streams in ascending order")
				break
			}
		}
		if len(xs) < 5 {
			list.Errorf("want at least five numbers of streams, found %d", len(xs))
		}
		return xs
	}
	if tool.CountSet(low, high, n) < 3 {
		g.profileAt().Errorf("kind \"knee\" needs initial_streams, or min_streams, max_streams and count")
		return nil
	}
	from, to, points := low.Integer(1), high.Integer(1), min(n.Integer(5), tool.MaxList)
	if to > 0 && from > to {
		low.Errorf(tool.Crossed, from, to)
	}
	var xs []float64
	for i := range points {
		x := math.Round(float64(from) + float64(to-from)*float64(i)/float64(points-1))
		if len(xs) == 0 || x > xs[len(xs)-1] {
			xs = append(xs, x)
		}
	}
	return xs
}
