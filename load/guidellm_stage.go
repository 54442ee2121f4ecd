package load

import (
	"slices"
	"time"

	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/runplan"
)

// openEnded is the number of requests in flight of GuideLLM's throughput profile when nothing else bounds it.
const openEnded = 10240

// guideStage completes p's stage with bounds, trims and data, templates filled in with its load value.
func (t *translator) guideStage(g guide, p point) {
	s := p.stage
	s.Measure = s.Name != "warmup"
	data, samples := t.guideData(g, p.load)
	b := t.guideBounds(g, p)
	s.Duration, s.Requests, s.Stop = b.duration, b.requests, b.stop
	if used := samples * data.Turns; samples > 0 && (s.Requests == 0 || used < s.Requests) {
		s.Requests = used
	}
	if s.Duration > 0 && !b.answered {
		s.Drain = new(runplan.Duration) // the tool cuts what is in flight when time is up
	}
	if s.Shape == runplan.ShapeThroughput && s.MaxInflight == 0 && s.Requests == 0 {
		s.MaxInflight = openEnded
	}
	f := g.profile.expand(p.load).fields()
	s.Ramp = f.get("rampup_duration").seconds(time.Second)
	s.SkipFirst, s.SkipLast = f.get("warmup").trim(b), f.get("cooldown").trim(b)
	if s.Shape == runplan.ShapeTrace {
		t.replayScale(&data, f, p.at)
	}
	t.keepData(p.at, &s, data)
	t.addStage(p.at, s)
}

// guideBounds reads the constraints for one stage; overrides take the place of those of their kind.
func (t *translator) guideBounds(g guide, p point) bounds {
	var b bounds
	g.legacy.bounds(&b, p)
	for _, c := range g.constraint.expand(p.load).items() {
		b.constraint(c, p.index)
	}
	if !g.own && t.over.maxSeconds.set() {
		b.duration = t.over.duration()
	}
	if !g.own && t.over.maxRequests.set() {
		b.requests, b.answered = t.over.requests(p.load), false
	}
	if b.forAll.set() && !p.last {
		b.forAll.needsTool("stopping_scope all of a duration or a request count")
	}
	return b
}

func (l legacyGuide) bounds(b *bounds, p point) {
	b.duration = nth(l.maxSeconds, p.index).positiveSeconds()
	b.requests = nth(l.maxRequests.expand(p.load), p.index).integer(1)
	if l.maxErrorRate.set() {
		numbers := map[string]float64{"rate": l.maxErrorRate.fraction(), "window": 30}
		b.stop = []runplan.StopRule{{Kind: "max_error_rate", Numbers: numbers}}
	}
}

// replayScale reads how a recorded file is played.
func (t *translator) replayScale(d *runplan.Data, f *fields, at value) {
	scale, turns := f.get("time_scale"), f.get("schedule_turn")
	switch {
	case d.Trace == nil && len(t.external) > 0: // recorded in a format that is not read here
		return
	case d.Trace == nil:
		at.errorf("kind \"replay\" needs data of a recorded kind: mooncake or trace_synthetic")
		return
	}
	if scale.set() {
		d.Trace.TimeScale *= scale.positive()
	}
	if turns.set() {
		d.Trace.Turns = turns.word(runplan.TurnsIdle, runplan.TurnsRecorded)
	}
}

// keepData keeps the data of the first stage for all of them, and prefixes that depend on the load value by stage.
// What else differs between stages only the real tool can do: it runs one process per stage.
func (t *translator) keepData(at value, s *runplan.Stage, d runplan.Data) {
	s.Prefixes = d.Prefixes
	d.Seed = t.m.Data.Seed
	if len(t.m.Stages) == 0 {
		t.m.Data = d
		return
	}
	if have := t.m.Data; !sameButPrefixes(have, d) {
		at.needsTool("data that differs between stages in more than its prefixes")
	}
}

func sameButPrefixes(a, b runplan.Data) bool {
	return same(a.File, b.File) && same(a.Images, b.Images) && same(a.Input, b.Input) && same(a.Output, b.Output) && same(a.FirstInput, b.FirstInput) && same(a.FirstOutput, b.FirstOutput) &&
		same(a.Trace, b.Trace) && a.Turns == b.Turns && a.Think == b.Think && a.Conversations == b.Conversations && a.Reuse == b.Reuse
}

func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// settleData moves prefixes that all stages share from the stages to the data.
func (t *translator) settleData() {
	t.m.Data.Prefixes = nil
	if len(t.m.Stages) == 0 {
		return
	}
	first := t.m.Stages[0].Prefixes
	for _, s := range t.m.Stages {
		if !slices.Equal(s.Prefixes, first) {
			return
		}
	}
	t.m.Data.Prefixes = first
	for i := range t.m.Stages {
		t.m.Stages[i].Prefixes = nil
	}
}

// envInt reads a setting of the tool from the load pod's environment.
func (t *translator) envInt(name string, def int) int {
	s, ok := t.m.Env[name]
	if !ok {
		return def
	}
	least, at := 1.0, scalar.Node(s)
	n, err := scalar.Int(at)
	if err == nil {
		err = scalar.Range{Min: &least}.Check(at, float64(n))
	}
	if err != nil {
		t.block.errorf("env %s: %v", name, err)
		return def
	}
	return n
}
