package load

import (
	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/runplan"
)

// stageWords are the words of a stage beside those that say its shape.
func stageWords() []string {
	return []string{
		"name", "measure", "arrival", "burstiness", "ramp", "slot_per", "duration", "requests", "max_inflight", "on_full",
		"skip_first", "skip_last", "stop", "pause_after",
	}
}

// nativeStages reads one entry of stages: a list in concurrency or rate makes one stage per value.
func (t *translator) nativeStages(v, data value) {
	f := v.fields()
	streams, rate, schedule := f.get("concurrency"), f.get("rate"), f.get("schedule")
	all, one := f.get("throughput"), f.get("synchronous")
	switch {
	case count(streams, rate, schedule, all.asked(), one.asked()) != 1:
		v.errorf("needs exactly one of concurrency, rate, schedule, throughput, synchronous")
		f.ignore(stageWords()...)
		f.close()
	case schedule.set():
		schedule.word("trace")
		t.nativeStage(v, data, nil, runplan.Stage{Shape: runplan.ShapeTrace})
	case all.asked().set():
		t.nativeStage(v, data, nil, runplan.Stage{Shape: runplan.ShapeThroughput})
	case one.asked().set():
		x := 1.0
		t.nativeStage(v, data, &x, runplan.Stage{Name: "synchronous", Shape: runplan.ShapeClosed, Concurrency: 1})
	case streams.set():
		for _, x := range streams.numbers(true) {
			t.nativeStage(v, data, &x, runplan.Stage{Shape: runplan.ShapeClosed, Concurrency: int(x)})
		}
	default:
		for _, x := range rate.numbers(false) {
			t.nativeStage(v, data, &x, runplan.Stage{Shape: runplan.ShapeOpen, Rate: x})
		}
	}
}

// asked is v where that is true, and not set where it is false.
func (v value) asked() value {
	if v.set() && !v.boolean() {
		v.node = nil
	}
	return v
}

func count(vs ...value) int {
	n := 0
	for _, v := range vs {
		if v.set() {
			n++
		}
	}
	return n
}

func (t *translator) nativeStage(v, data value, load *float64, s runplan.Stage) {
	f := v.expand(load).fields()
	f.ignore("concurrency", "rate", "schedule", "throughput", "synchronous")
	base := f.get("name").text()
	s.Measure = f.get("measure").booleanOr(true)
	t.shapeWords(f, &s, load)
	f.close()
	switch {
	case base != "" && len(v.loadValues()) > 1:
		s.Name = base + "-" + stageName(s)
	case base != "":
		s.Name = base
	}
	t.keepData(v, &s, t.nativeData(data.expand(load)))
	t.addStage(v, s)
}

// shapeWords reads the words that a stage of any load value, or a level of a search, may have.
func (t *translator) shapeWords(f *fields, s *runplan.Stage, load *float64) {
	t.openLoop(f, s)
	nativeRamp(f.get("ramp"), s)
	nativeSlot(f.get("slot_per"), s)
	b := t.nativeBounds(f, s.Measure, load)
	s.Duration, s.Requests = b.duration, b.requests
	s.SkipFirst, s.SkipLast = f.get("skip_first").trim(b), f.get("skip_last").trim(b)
	s.PauseAfter = f.get("pause_after").duration()
	for _, rule := range f.get("stop").items() {
		s.Stop = append(s.Stop, nativeStop(rule))
	}
}

// nativeRamp reads a duration, or {over, from, shape, steps}.
func nativeRamp(v value, s *runplan.Stage) {
	if !v.is(yaml.MappingNode) {
		s.Ramp = v.duration()
		return
	}
	f := v.fields()
	s.Ramp = positiveDuration(f.must("over"), 0)
	from, shape, steps := f.get("from"), f.get("shape"), f.get("steps")
	s.RampFrom, s.RampSteps = from.numberAtLeast(0), steps.integer(1)
	if shape.set() {
		s.RampShape = shape.word("linear", "exponential", "steps")
	}
	f.close()
	switch {
	case s.Shape != runplan.ShapeOpen && (from.set() || shape.set() || steps.set()):
		v.errorf("from, shape and steps belong to the ramp of a rate")
	case s.RampShape == "exponential" && s.RampFrom == 0:
		v.errorf("shape \"exponential\" needs from, a rate above 0")
	case (s.RampShape == "steps") != steps.set():
		v.errorf("shape \"steps\" and the number of steps go together")
	}
}

func nativeSlot(v value, s *runplan.Stage) {
	if !v.set() {
		return
	}
	if s.SlotPer = v.word("session", "request"); s.Shape != runplan.ShapeClosed {
		v.errorf("belongs to a stage with concurrency")
	}
}

func (v value) loadValues() []value {
	f := v.fields()
	return append(f.get("concurrency").commaItems(), f.get("rate").commaItems()...)
}

func (t *translator) openLoop(f *fields, s *runplan.Stage) {
	arrival, burst := f.get("arrival"), f.get("burstiness")
	limit, full := f.get("max_inflight"), f.get("on_full")
	if s.MaxInflight = limit.integer(1); limit.set() && s.Shape == runplan.ShapeClosed {
		limit.errorf("concurrency already limits them: remove max_inflight")
	}
	if s.Shape != runplan.ShapeOpen {
		for _, v := range []value{arrival, burst} {
			if v.set() {
				v.errorf("belongs to a stage with a rate")
			}
		}
	} else {
		s.Arrival = arrival.word("constant", "poisson", "gamma")
		s.Burstiness = burst.positive()
		if burst.set() && s.Arrival != "gamma" {
			burst.errorf("belongs to arrival gamma")
		}
	}
	if word := full.word("queue", "drop"); full.set() {
		s.OnFull = word
		if !limit.set() || s.Shape == runplan.ShapeThroughput {
			full.errorf("needs max_inflight and a rate or a schedule")
		}
	}
}

// nativeBounds reads duration and requests; overrides replace those of measured stages.
func (t *translator) nativeBounds(f *fields, measured bool, load *float64) bounds {
	b := bounds{duration: positiveDuration(f.get("duration"), 0), requests: f.get("requests").integer(1)}
	if measured && t.over.maxSeconds.set() {
		b.duration = t.over.maxSeconds.positiveSeconds()
	}
	if measured && t.over.maxRequests.set() {
		b.requests = t.over.maxRequests.expand(load).integer(1)
	}
	return b
}

func nativeStop(v value) runplan.StopRule {
	v = v.typed()
	f := v.fields()
	kind := f.must("kind").word(constraintKinds()[3:]...)
	rule := stopRule(kind, f, f.get("stopping_scope").word("current", "all") == "all")
	f.close()
	return rule
}
