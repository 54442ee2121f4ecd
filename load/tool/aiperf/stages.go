package aiperf

import (
	"time"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// readStages reads schedule, loads and bounds: a list of loads makes one stage per value.
func readStages(d *tool.Draft, f *tool.Fields) {
	streams, rate := f.Get("concurrency"), f.Get("request_rate")
	arrival := f.Get("request_rate_mode", "arrival_pattern")
	burst := f.Get("arrival_smoothness", "vllm_burstiness").Positive()
	unscheduled := f.Get("no_fixed_schedule").Bool()
	fixedSchedule := f.Get("fixed_schedule").BoolOr(d.Data.Trace != nil && !unscheduled)
	ramps := f.Get("concurrency_ramp_duration", "request_rate_ramp_duration").Seconds(time.Second)
	limits := readLimits(d, f)
	warm := readWarmup(d, f)
	var points []runplan.Stage
	switch {
	case d.Data.Trace != nil && fixedSchedule:
		points = []runplan.Stage{{Shape: runplan.ShapeTrace, MaxInflight: streams.Integer(1)}}
	case rate.IsSet():
		limit := streams.Integer(1)
		for _, x := range rate.Numbers(false) {
			points = append(points, runplan.Stage{
				Shape: runplan.ShapeOpen, Rate: x, Arrival: arrival.Word("poisson", "constant", "gamma"),
				Burstiness: burst, MaxInflight: limit,
			})
		}
	default:
		points = closedPoints(streams)
	}
	for i, s := range points {
		s.Ramp = ramps
		if i == 0 && warm.asked() {
			d.AddStage(d.Block, warm.of(s))
		}
		d.AddStage(d.Block, limits.bound(s))
	}
}

func closedPoints(streams tool.Value) []runplan.Stage {
	if !streams.IsSet() {
		return []runplan.Stage{{Shape: runplan.ShapeClosed, Concurrency: 1}}
	}
	var out []runplan.Stage
	for _, x := range streams.Numbers(true) {
		out = append(out, runplan.Stage{Shape: runplan.ShapeClosed, Concurrency: int(x)})
	}
	return out
}

// warmup is what precedes the first stage.
type warmup struct {
	requests int
	duration runplan.Duration
	drain    *runplan.Duration
	streams  int
	rate     float64
	arrival  tool.Value
}

func readWarmup(d *tool.Draft, f *tool.Fields) warmup {
	w := warmup{
		requests: f.Get("warmup_request_count", "num_warmup_requests").Integer(0),
		duration: f.Get("warmup_duration").Seconds(time.Second),
		streams:  f.Get("warmup_concurrency").Integer(1), rate: f.Get("warmup_request_rate").Positive(),
		arrival: f.Get("warmup_arrival_pattern"),
	}
	if n := f.Get("num_warmup_sessions").Integer(1); n > 0 && w.requests == 0 {
		w.requests = n * max(d.Data.Turns, 1)
	}
	if g := f.Get("warmup_grace_period"); g.IsSet() {
		d := g.Seconds(time.Second)
		w.drain = &d
	}
	return w
}

func (w warmup) asked() bool { return w.requests > 0 || w.duration > 0 }

// of is the warm-up before s, at the load of s where it has none of its own. It is not measured; a recorded schedule is
// warmed up one request at a time.
func (w warmup) of(s runplan.Stage) runplan.Stage {
	s.Name, s.Drain = "warmup", w.drain
	s.Requests, s.Duration = w.requests, w.duration
	if s.Shape == runplan.ShapeTrace {
		s.Shape, s.Concurrency, s.MaxInflight = runplan.ShapeClosed, max(s.MaxInflight, 1), 0
	}
	if w.streams > 0 {
		s.Shape, s.Concurrency, s.MaxInflight = runplan.ShapeClosed, w.streams, 0
		s.Rate, s.Arrival, s.Burstiness = 0, "", 0
	}
	if w.rate > 0 {
		s.Shape, s.Rate, s.Arrival = runplan.ShapeOpen, w.rate, w.arrival.Word("poisson", "constant")
		s.MaxInflight, s.Concurrency = w.streams, 0
	}
	return s
}

// limits is what ends a stage of aiperf.
type limits struct {
	duration, grace runplan.Duration
	requests        tool.Value
	made            bool // text is made up: without a bound the tool sends a number that depends on the concurrency
}

// readLimits reads the bounds, overrides before the profile.
func readLimits(d *tool.Draft, f *tool.Fields) limits {
	l := limits{
		duration: runplan.Duration(7200 * time.Second), grace: runplan.Duration(30 * time.Second),
		requests: f.Get("request_count", "num_requests"),
	}
	seconds, length := f.Get("max_seconds"), f.Get("benchmark_duration")
	tool.Replace(&seconds, d.Over.MaxSeconds)
	tool.Replace(&l.requests, d.Over.MaxRequests)
	l.made = d.Data.Reuse && !length.IsSet()
	if seconds.IsSet() {
		l.duration = seconds.PositiveSeconds()
	}
	if x := length.PositiveSeconds(); x > 0 && (!seconds.IsSet() || x < l.duration) {
		l.duration = x
	}
	if g := f.Get("benchmark_grace_period"); g.IsSet() {
		l.grace = g.Seconds(time.Second)
	}
	return l
}

func (l limits) bound(s runplan.Stage) runplan.Stage {
	s.Measure, s.Duration, s.Drain = true, l.duration, &l.grace
	load := float64(max(s.Concurrency, 1))
	if s.Shape == runplan.ShapeOpen {
		load = s.Rate
	}
	s.Requests = l.requests.Expand(&load).Integer(1)
	if s.Requests == 0 && l.made {
		s.Requests = max(10, 2*max(s.Concurrency, s.MaxInflight))
	}
	return s
}
