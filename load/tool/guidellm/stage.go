package guidellm

import (
	"time"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// openEnded is the number of requests in flight of GuideLLM's throughput profile when nothing else bounds it.
const openEnded = 10240

// addStage completes p's stage with bounds, trims and data, templates filled in with its load value.
func addStage(d *tool.Draft, g block, p point) {
	s := p.stage
	s.Measure = s.Name != "warmup"
	data, samples := readData(d, g, p.load)
	b := readBounds(d, g, p)
	s.Duration, s.Requests, s.Stop = b.Duration, b.Requests, b.stop
	if used := samples * data.Turns; samples > 0 && (s.Requests == 0 || used < s.Requests) {
		s.Requests = used
	}
	if s.Duration > 0 && !b.answered {
		s.Drain = new(runplan.Duration) // the tool cuts what is in flight when time is up
	}
	if s.Shape == runplan.ShapeThroughput && s.MaxInflight == 0 && s.Requests == 0 {
		s.MaxInflight = openEnded
	}
	f := g.profile.Expand(p.load).Fields()
	s.Ramp = f.Get("rampup_duration").Seconds(time.Second)
	s.SkipFirst, s.SkipLast = tool.ReadTrim(f.Get("warmup"), b.Bounds), tool.ReadTrim(f.Get("cooldown"), b.Bounds)
	if s.Shape == runplan.ShapeTrace {
		readReplay(d, &data, f, p.at)
	}
	d.KeepData(p.at, &s, data)
	d.AddStage(p.at, s)
}

// readBounds reads the constraints for one stage; overrides take the place of those of their kind.
func readBounds(d *tool.Draft, g block, p point) bounds {
	var b bounds
	g.legacy.bounds(&b, p)
	for _, c := range g.constraint.Expand(p.load).Items() {
		b.constraint(c, p.index)
	}
	if !g.own && d.Over.MaxSeconds.IsSet() {
		b.Duration = d.Over.Duration()
	}
	if !g.own && d.Over.MaxRequests.IsSet() {
		b.Requests, b.answered = d.Over.Requests(p.load), false
	}
	if b.forAll.IsSet() && !p.last {
		b.forAll.NeedsTool("stopping_scope all of a duration or a request count")
	}
	return b
}

func (l legacyBlock) bounds(b *bounds, p point) {
	b.Duration = tool.Nth(l.maxSeconds, p.index).PositiveSeconds()
	b.Requests = tool.Nth(l.maxRequests.Expand(p.load), p.index).Integer(1)
	if l.maxErrorRate.IsSet() {
		numbers := map[string]float64{"rate": l.maxErrorRate.Fraction(), "window": 30}
		b.stop = []runplan.StopRule{{Kind: "max_error_rate", Numbers: numbers}}
	}
}

// readReplay reads how a recorded file is played.
func readReplay(d *tool.Draft, data *runplan.Data, f *tool.Fields, at tool.Value) {
	scale, turns := f.Get("time_scale"), f.Get("schedule_turn")
	switch {
	case data.Trace == nil && d.NeedsTool(): // recorded in a format that is not read here
		return
	case data.Trace == nil:
		at.Errorf("kind \"replay\" needs data of a recorded kind: mooncake or trace_synthetic")
		return
	}
	if scale.IsSet() {
		data.Trace.TimeScale *= scale.Positive()
	}
	if turns.IsSet() {
		data.Trace.Turns = turns.Word(runplan.TurnsIdle, runplan.TurnsRecorded)
	}
}
