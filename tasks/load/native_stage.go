package load

import (
	"bflow.dev/bflow/tasks/runplan"
)

// nativeStages reads one entry of stages: a list in concurrency or rate makes one stage per value.
func (t *translator) nativeStages(v, data value) {
	f := v.fields()
	streams, rate, schedule := f.get("concurrency"), f.get("rate"), f.get("schedule")
	switch {
	case count(streams, rate, schedule) != 1:
		v.errorf("needs exactly one of concurrency, rate, schedule")
		f.ignore("name", "measure", "arrival", "burstiness", "ramp", "duration", "requests", "max_inflight", "on_full", "skip_first", "skip_last", "stop", "pause_after")
		f.close()
	case schedule.set():
		schedule.word("trace")
		t.nativeStage(v, data, nil, runplan.Stage{Shape: runplan.ShapeTrace})
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
	f.ignore("concurrency", "rate", "schedule")
	base := f.get("name").text()
	s.Measure = f.get("measure").booleanOr(true)
	t.openLoop(f, &s)
	s.Ramp = f.get("ramp").duration()
	b := t.nativeBounds(f, s.Measure, load)
	s.Duration, s.Requests = b.duration, b.requests
	s.SkipFirst, s.SkipLast = f.get("skip_first").trim(b), f.get("skip_last").trim(b)
	s.PauseAfter = f.get("pause_after").duration()
	for _, rule := range f.get("stop").items() {
		s.Stop = append(s.Stop, nativeStop(rule))
	}
	f.close()
	if s.Name = base; base != "" && len(v.loadValues()) > 1 {
		s.Name = base + "-" + stageName(s)
	}
	t.keepData(v, &s, t.nativeData(data.expand(load)))
	t.addStage(v, s)
}

func (v value) loadValues() []value {
	f := v.fields()
	return append(f.get("concurrency").commaItems(), f.get("rate").commaItems()...)
}

func (t *translator) openLoop(f *fields, s *runplan.Stage) {
	arrival, burst := f.get("arrival"), f.get("burstiness")
	limit, full := f.get("max_inflight"), f.get("on_full")
	s.MaxInflight = limit.integer(1)
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
		if !limit.set() {
			full.errorf("needs max_inflight")
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
