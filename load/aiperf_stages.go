package load

import (
	"time"

	"bflow.dev/bflow/runplan"
)

// aiperfStages reads schedule, loads and bounds: a list of loads makes one stage per value.
func (t *translator) aiperfStages(f *fields) {
	streams, rate := f.get("concurrency"), f.get("request_rate")
	arrival := f.get("request_rate_mode", "arrival_pattern")
	burst := f.get("arrival_smoothness", "vllm_burstiness").positive()
	unscheduled := f.get("no_fixed_schedule").boolean()
	fixedSchedule := f.get("fixed_schedule").booleanOr(t.m.Data.Trace != nil && !unscheduled)
	ramps := f.get("concurrency_ramp_duration", "request_rate_ramp_duration").seconds(time.Second)
	limits := t.aiperfLimits(f)
	warm := t.aiperfWarmup(f)
	var points []runplan.Stage
	switch {
	case t.m.Data.Trace != nil && fixedSchedule:
		points = []runplan.Stage{{Shape: runplan.ShapeTrace, MaxInflight: streams.integer(1)}}
	case rate.set():
		limit := streams.integer(1)
		for _, x := range rate.numbers(false) {
			points = append(points, runplan.Stage{
				Shape: runplan.ShapeOpen, Rate: x, Arrival: arrival.word("poisson", "constant", "gamma"), Burstiness: burst, MaxInflight: limit,
			})
		}
	default:
		points = closedPoints(streams)
	}
	for i, s := range points {
		s.Ramp = ramps
		if i == 0 && warm.asked() {
			t.addStage(t.block, warm.of(s))
		}
		t.addStage(t.block, limits.bound(s))
	}
}

func closedPoints(streams value) []runplan.Stage {
	if !streams.set() {
		return []runplan.Stage{{Shape: runplan.ShapeClosed, Concurrency: 1}}
	}
	var out []runplan.Stage
	for _, x := range streams.numbers(true) {
		out = append(out, runplan.Stage{Shape: runplan.ShapeClosed, Concurrency: int(x)})
	}
	return out
}

// aiperfWarmup is what precedes the first stage.
type aiperfWarmup struct {
	requests int
	duration runplan.Duration
	drain    *runplan.Duration
	streams  int
	rate     float64
	arrival  value
}

func (t *translator) aiperfWarmup(f *fields) aiperfWarmup {
	w := aiperfWarmup{
		requests: f.get("warmup_request_count", "num_warmup_requests").integer(0), duration: f.get("warmup_duration").seconds(time.Second),
		streams: f.get("warmup_concurrency").integer(1), rate: f.get("warmup_request_rate").positive(), arrival: f.get("warmup_arrival_pattern"),
	}
	if n := f.get("num_warmup_sessions").integer(1); n > 0 && w.requests == 0 {
		w.requests = n * max(t.m.Data.Turns, 1)
	}
	if g := f.get("warmup_grace_period"); g.set() {
		d := g.seconds(time.Second)
		w.drain = &d
	}
	return w
}

func (w aiperfWarmup) asked() bool { return w.requests > 0 || w.duration > 0 }

// of is the warm-up before s, at the load of s where it has none of its own. It is not measured; a recorded schedule is
// warmed up one request at a time.
func (w aiperfWarmup) of(s runplan.Stage) runplan.Stage {
	s.Name, s.Requests, s.Duration, s.Drain = "warmup", w.requests, w.duration, w.drain
	if s.Shape == runplan.ShapeTrace {
		s.Shape, s.Concurrency, s.MaxInflight = runplan.ShapeClosed, max(s.MaxInflight, 1), 0
	}
	if w.streams > 0 {
		s.Shape, s.Concurrency, s.MaxInflight, s.Rate, s.Arrival, s.Burstiness = runplan.ShapeClosed, w.streams, 0, 0, "", 0
	}
	if w.rate > 0 {
		s.Shape, s.Rate, s.Arrival, s.MaxInflight, s.Concurrency = runplan.ShapeOpen, w.rate, w.arrival.word("poisson", "constant"), w.streams, 0
	}
	return s
}

// aiperfLimits is what ends a stage of aiperf.
type aiperfLimits struct {
	duration, grace runplan.Duration
	requests        value
	made            bool // text is made up: without a bound the tool sends a number that depends on the concurrency
}

// aiperfLimits reads the bounds, overrides before the profile.
func (t *translator) aiperfLimits(f *fields) aiperfLimits {
	l := aiperfLimits{
		duration: runplan.Duration(7200 * time.Second), grace: runplan.Duration(30 * time.Second), requests: f.get("request_count", "num_requests"),
	}
	seconds, length := f.get("max_seconds"), f.get("benchmark_duration")
	replaced(&seconds, t.over.maxSeconds)
	replaced(&l.requests, t.over.maxRequests)
	l.made = t.m.Data.Reuse && !length.set()
	if seconds.set() {
		l.duration = seconds.positiveSeconds()
	}
	if x := length.positiveSeconds(); x > 0 && (!seconds.set() || x < l.duration) {
		l.duration = x
	}
	if g := f.get("benchmark_grace_period"); g.set() {
		l.grace = g.seconds(time.Second)
	}
	return l
}

func (l aiperfLimits) bound(s runplan.Stage) runplan.Stage {
	s.Measure, s.Duration, s.Drain = true, l.duration, &l.grace
	load := float64(max(s.Concurrency, 1))
	if s.Shape == runplan.ShapeOpen {
		load = s.Rate
	}
	s.Requests = l.requests.expand(&load).integer(1)
	if s.Requests == 0 && l.made {
		s.Requests = max(10, 2*max(s.Concurrency, s.MaxInflight))
	}
	return s
}
