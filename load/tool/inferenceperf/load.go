package inferenceperf

import (
	"fmt"
	"math"
	"strings"
	"time"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

func readLoad(d *tool.Draft, v, sessions tool.Value) {
	if !v.IsSet() {
		return
	}
	f := v.Fields()
	kind := f.Get("type")
	arrival := kind.Word("constant", "poisson", "concurrent", "trace_replay", "trace_session_replay")
	pause := runplan.Duration(time.Second)
	if i := f.Get("interval"); i.IsSet() {
		pause = i.Seconds(time.Second)
	}
	if x := f.Get("request_timeout"); x.IsSet() {
		d.API.Timeout = x.PositiveSeconds()
	}
	if s := f.Get("base_seed"); s.IsSet() {
		d.Data.Seed = s.Seed()
	}
	common := runplan.Stage{Measure: true, PauseAfter: pause, Drain: readDrain(f.Get("stage_teardown_grace_seconds"))}
	stages, sweep, trace := f.Get("stages"), f.Get("sweep"), f.Get("trace")
	readRest(d, f)
	f.Close()
	switch {
	case arrival == "trace_session_replay":
		kind.NeedsTool("load type %q", arrival)
		for _, s := range stages.Items() {
			s.Fields().ToolOnly("concurrent_sessions", "session_rate", "num_sessions", "timeout")
		}
	case arrival == "trace_replay":
		readReplay(d, v, trace, common)
	case sweep.IsSet():
		readSweep(d, sweep, arrival, common)
	case len(stages.Items()) == 0:
		v.Errorf("needs \"stages\" or \"sweep\"")
	default:
		for _, s := range stages.Items() {
			readStage(d, s, arrival, common)
		}
		giveTurns(d, sessions)
	}
	if sessions.IsSet() && (arrival != "constant" && arrival != "poisson" && arrival != "concurrent" || sweep.IsSet()) {
		sessions.NeedsTool("sessions in a load that is no list of stages")
	}
}

// giveTurns gives each session the turns that fall to it. The tool hands request i to session i modulo their number, so
// that a stage of n requests takes the sessions n/number turns on; here a session takes its turns one after the other,
// and as many fewer sessions begin a second as each has turns.
func giveTurns(d *tool.Draft, sessions tool.Value) {
	if !sessions.IsSet() {
		return
	}
	data := &d.Data
	for i := range d.Stages {
		s := &d.Stages[i]
		if s.Shape == runplan.ShapeOpen {
			s.Requests = int(s.Rate * s.Duration.D().Seconds())
		}
		data.Turns = max(data.Turns, (s.Requests+data.Conversations-1)/data.Conversations)
	}
	for i := range d.Stages {
		if s := &d.Stages[i]; s.Shape == runplan.ShapeOpen {
			s.Rate /= float64(data.Turns)
		} else {
			s.SlotPer = "request"
		}
	}
	if data.Turns == 1 {
		return
	}
	sessions.Notef("a session takes its %d turns one after the other; the tool goes round all %d sessions", data.Turns,
		data.Conversations)
}

func readDrain(v tool.Value) *runplan.Duration {
	if !v.IsSet() {
		return nil
	}
	d := v.Seconds(time.Second)
	return &d
}

func readRest(d *tool.Draft, f *tool.Fields) {
	f.Noted("has no effect: nothing caps the requests in flight here", "num_workers", "worker_max_concurrency",
		"worker_max_tcp_connections")
	backoff := f.Get("request_retry_backoff_sec")
	if n := f.Get("request_retries").Integer(0); n > 0 {
		d.API.Retry = &runplan.Retry{Attempts: n, Backoff: runplan.Duration(500 * time.Millisecond)}
		if backoff.IsSet() {
			d.API.Retry.Backoff = backoff.Seconds(time.Second)
		}
	}
	for _, v := range f.Get("lora_traffic_split").Items() {
		a := v.Fields()
		adapter := runplan.Adapter{Name: a.Must("name").Text(), Weight: a.Must("split").Positive()}
		d.API.Adapters = append(d.API.Adapters, adapter)
		a.Close()
	}
	readBreakers(f)
}

// readReplay sends at the times of a trace of Azure, whose lengths replace those of the data.
func readReplay(d *tool.Draft, v, trace tool.Value, s runplan.Stage) {
	if !trace.IsSet() {
		v.Errorf("type \"trace_replay\" needs \"trace\"")
		return
	}
	read := readTrace(trace)
	if have := d.Data.Trace; have != nil && have.URL != read.URL {
		trace.NeedsTool("times of one trace and lengths of another")
	}
	d.Data = runplan.Data{Turns: 1, FreshPerStage: true, Seed: d.Data.Seed, Trace: read}
	s.Shape = runplan.ShapeTrace
	d.AddStage(v, s)
}

func readTrace(v tool.Value) *runplan.Trace {
	f := v.Fields()
	format := f.Get("format")
	trace := &runplan.Trace{Format: runplan.TraceAzure, URL: f.Must("file").Text(), TimeScale: 1}
	if format.IsSet() && !strings.EqualFold(format.Text(), "AzurePublicDataset") {
		format.OtherKind("trace format", "AzurePublicDataset")
	}
	f.Close()
	return trace
}

func readStage(d *tool.Draft, v tool.Value, arrival string, s runplan.Stage) {
	f := v.Fields()
	if arrival == "concurrent" {
		s.Shape, s.Concurrency = runplan.ShapeClosed, f.Must("concurrency_level").Integer(1)
		s.Requests = f.Must("num_requests").Integer(1)
		f.Ignore("rate", "duration") // the tool writes there what it reached
	} else {
		f.Ignore("num_requests", "concurrency_level")
		s.Shape, s.Arrival, s.Rate = runplan.ShapeOpen, arrival, f.Must("rate").Positive()
		s.Duration = f.Must("duration").PositiveSeconds()
	}
	f.ToolOnly("concurrent_sessions", "session_rate", "num_sessions", "timeout")
	f.Close()
	d.AddStage(v, s)
}

// readSweep finds the saturation with all requests at once, then climbs to it.
func readSweep(d *tool.Draft, v tool.Value, arrival string, common runplan.Stage) {
	f := v.Fields()
	geometric := f.Get("type").Word("linear", "geometric") == "geometric"
	requests, n := f.CountOr(2000, "num_requests"), f.CountOr(5, "num_stages")
	limit, length := secondsOr(f, "timeout", 60*time.Second), secondsOr(f, "stage_duration", 180*time.Second)
	f.Noted("has no effect: the saturation is the request rate that the burst reached", "saturation_percentile")
	f.Close()
	if arrival == "concurrent" || n > tool.MaxList {
		v.Errorf("a sweep needs load type constant or poisson, and at most %d stages", tool.MaxList)
		return
	}
	low, high := common, common
	low.Duration, high.Duration = limit, limit
	low.Name, low.Shape = "sweep-low", runplan.ShapeClosed
	low.Concurrency, low.Requests = 1, max(1, requests/100)
	high.Name, high.Shape, high.Requests = "sweep-high", runplan.ShapeThroughput, requests
	low.Measure, high.Measure = false, false
	d.AddStage(v, low)
	d.AddStage(v, high)
	for i := range n {
		s := common
		s.Name, s.Shape = fmt.Sprintf("sweep-%d", i+1), runplan.ShapeOpen
		s.Arrival, s.Duration = arrival, length
		s.Between = &runplan.Between{Low: 0, High: 1, Fraction: sweepFraction(i, n, geometric)}
		d.AddStage(v, s)
	}
}

func secondsOr(f *tool.Fields, name string, def time.Duration) runplan.Duration {
	if v := f.Get(name); v.IsSet() {
		return v.PositiveSeconds()
	}
	return runplan.Duration(def)
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
