package load

import (
	"fmt"
	"math"
	"strings"
	"time"

	"bflow.dev/bflow/runplan"
)

func (t *translator) perfLoad(v value) {
	if !v.set() {
		return
	}
	f := v.fields()
	kind := f.get("type")
	arrival := kind.word("constant", "poisson", "concurrent", "trace_replay", "trace_session_replay")
	pause := runplan.Duration(time.Second)
	if i := f.get("interval"); i.set() {
		pause = i.seconds(time.Second)
	}
	if d := f.get("request_timeout"); d.set() {
		t.m.API.Timeout = d.positiveSeconds()
	}
	if s := f.get("base_seed"); s.set() {
		t.m.Data.Seed = s.seed()
	}
	common := runplan.Stage{Measure: true, PauseAfter: pause, Drain: perfDrain(f.get("stage_teardown_grace_seconds"))}
	stages, sweep, trace := f.get("stages"), f.get("sweep"), f.get("trace")
	t.perfRest(f)
	f.close()
	switch {
	case arrival == "trace_session_replay":
		kind.needsTool("load type %q", arrival)
		for _, s := range stages.items() {
			s.fields().toolOnly("concurrent_sessions", "session_rate", "num_sessions", "timeout")
		}
	case arrival == "trace_replay":
		t.perfReplay(v, trace, common)
	case sweep.set():
		t.perfSweep(sweep, arrival, common)
	case len(stages.items()) == 0:
		v.errorf("needs \"stages\" or \"sweep\"")
	default:
		for _, s := range stages.items() {
			t.perfStage(s, arrival, common)
		}
		t.perfSessions()
	}
	if t.sessions.set() && (arrival != "constant" && arrival != "poisson" && arrival != "concurrent" || sweep.set()) {
		t.sessions.needsTool("sessions in a load that is no list of stages")
	}
}

// perfSessions gives each session the turns that fall to it. The tool hands request i to session i modulo their number, so
// that a stage of n requests takes the sessions n/number turns on; here a session takes its turns one after the other, and
// as many fewer sessions begin a second as each has turns.
func (t *translator) perfSessions() {
	if !t.sessions.set() {
		return
	}
	d := &t.m.Data
	for i := range t.m.Stages {
		s := &t.m.Stages[i]
		if s.Shape == runplan.ShapeOpen {
			s.Requests = int(s.Rate * s.Duration.D().Seconds())
		}
		d.Turns = max(d.Turns, (s.Requests+d.Conversations-1)/d.Conversations)
	}
	for i := range t.m.Stages {
		if s := &t.m.Stages[i]; s.Shape == runplan.ShapeOpen {
			s.Rate /= float64(d.Turns)
		} else {
			s.SlotPer = "request"
		}
	}
	if d.Turns == 1 {
		return
	}
	t.sessions.notef("a session takes its %d turns one after the other; the tool goes round all %d sessions", d.Turns, d.Conversations)
}

func perfDrain(v value) *runplan.Duration {
	if !v.set() {
		return nil
	}
	d := v.seconds(time.Second)
	return &d
}

func (t *translator) perfRest(f *fields) {
	f.noted("has no effect: nothing caps the requests in flight here", "num_workers", "worker_max_concurrency", "worker_max_tcp_connections")
	backoff := f.get("request_retry_backoff_sec")
	if n := f.get("request_retries").integer(0); n > 0 {
		t.m.API.Retry = &runplan.Retry{Attempts: n, Backoff: runplan.Duration(500 * time.Millisecond)}
		if backoff.set() {
			t.m.API.Retry.Backoff = backoff.seconds(time.Second)
		}
	}
	for _, v := range f.get("lora_traffic_split").items() {
		a := v.fields()
		t.m.API.Adapters = append(t.m.API.Adapters, runplan.Adapter{Name: a.must("name").text(), Weight: a.must("split").positive()})
		a.close()
	}
	perfBreakers(f)
}

// perfReplay sends at the times of a trace of Azure, whose lengths replace those of the data.
func (t *translator) perfReplay(v, trace value, s runplan.Stage) {
	if !trace.set() {
		v.errorf("type \"trace_replay\" needs \"trace\"")
		return
	}
	read := perfTrace(trace)
	if have := t.m.Data.Trace; have != nil && have.URL != read.URL {
		trace.needsTool("times of one trace and lengths of another")
	}
	t.m.Data = runplan.Data{Turns: 1, FreshPerStage: true, Seed: t.m.Data.Seed, Trace: read}
	s.Shape = runplan.ShapeTrace
	t.addStage(v, s)
}

func perfTrace(v value) *runplan.Trace {
	f := v.fields()
	format := f.get("format")
	trace := &runplan.Trace{Format: runplan.TraceAzure, URL: f.must("file").text(), TimeScale: 1}
	if format.set() && !strings.EqualFold(format.text(), "AzurePublicDataset") {
		format.otherKind("trace format", "AzurePublicDataset")
	}
	f.close()
	return trace
}

func (t *translator) perfStage(v value, arrival string, s runplan.Stage) {
	f := v.fields()
	if arrival == "concurrent" {
		s.Shape, s.Concurrency = runplan.ShapeClosed, f.must("concurrency_level").integer(1)
		s.Requests = f.must("num_requests").integer(1)
		f.ignore("rate", "duration") // the tool writes there what it reached
	} else {
		f.ignore("num_requests", "concurrency_level")
		s.Shape, s.Arrival, s.Rate = runplan.ShapeOpen, arrival, f.must("rate").positive()
		s.Duration = f.must("duration").positiveSeconds()
	}
	f.toolOnly("concurrent_sessions", "session_rate", "num_sessions", "timeout")
	f.close()
	t.addStage(v, s)
}

// perfSweep finds the saturation with all requests at once, then climbs to it.
func (t *translator) perfSweep(v value, arrival string, common runplan.Stage) {
	f := v.fields()
	geometric := f.get("type").word("linear", "geometric") == "geometric"
	requests := int(f.numberOr("num_requests", 2000))
	limit := runplan.Duration(f.numberOr("timeout", 60) * float64(time.Second))
	n := int(f.numberOr("num_stages", 5))
	length := runplan.Duration(f.numberOr("stage_duration", 180) * float64(time.Second))
	f.noted("has no effect: the saturation is the request rate that the burst reached", "saturation_percentile")
	f.close()
	if arrival == "concurrent" || n > MaxList {
		v.errorf("a sweep needs load type constant or poisson, and at most %d stages", MaxList)
		return
	}
	low, high := common, common
	low.Name, low.Shape, low.Concurrency, low.Requests, low.Duration = "sweep-low", runplan.ShapeClosed, 1, max(1, requests/100), limit
	high.Name, high.Shape, high.Requests, high.Duration = "sweep-high", runplan.ShapeThroughput, requests, limit
	low.Measure, high.Measure = false, false
	t.addStage(v, low)
	t.addStage(v, high)
	for i := range n {
		s := common
		s.Name, s.Shape, s.Arrival, s.Duration = fmt.Sprintf("sweep-%d", i+1), runplan.ShapeOpen, arrival, length
		s.Between = &runplan.Between{Low: 0, High: 1, Fraction: sweepFraction(i, n, geometric)}
		t.addStage(v, s)
	}
}

// sweepFraction spaces n rates evenly, or by halving the distance to the saturation; the last is the saturation.
func sweepFraction(i, n int, geometric bool) float64 {
	switch {
	case i == n-1:
		return 1
	case geometric:
		return 1 - math.Pow(2, -float64(i+1))
	default:
		return float64(i+1) / float64(n)
	}
}
