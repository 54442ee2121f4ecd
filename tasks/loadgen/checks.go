package loadgen

import (
	"fmt"
	"math"

	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/runplan"
	"bflow.dev/bflow/tasks/verdict"
)

// Reasons why a measurement must not be believed, and the findings that a server is saturated and that latencies from
// the send leave out a wait.
const (
	reasonSchedule = "schedule_missed"
	reasonClient   = "client_limited"
	reasonChurn    = "connection_churn"
	reasonClock    = "clock_step"
	reasonTokens   = "token_mismatch"
	reasonServer   = "server_saturated"
	reasonWait     = "waits_before_send"
)

// checks are those that the client can make of itself for one stage.
func checks(in *record.Stage, r *report.StageResult, used self, exact bool) []report.Check {
	var out []report.Check
	add := adder(&out)
	wall := float64(r.DrainEndNS-r.StartNS) / 1e9
	scheduleChecks(in, r, add)
	lagCheck(r, "client_lag", 1, add, reasonClient, "answers were read late: give load-gen a core of its own, or divide the load among shards")
	add("run_queue_share", used.longest.Seconds()/wall, 0.05, reasonClient, "load-gen waited for a processor: give it a core of its own")
	add("cpu_share", used.cpu.Seconds()/wall/used.limit, 0.8, reasonClient, "load-gen used more than 80 % of its processors")
	if used.throttled >= 0 {
		add("throttled_share", used.throttled, 0.05, reasonClient, "the processor quota of load-gen throttled it")
	}
	add("gc_pause_max_ms", float64(used.gcPause)/1e6, 1, reasonClient, "a garbage collection stopped load-gen")
	if n := r.Counts.All; n > 0 {
		add("connections_per_request", float64(used.conns.Churn)/float64(n), 0.01, reasonChurn, "the server closes connections that could be kept")
	}
	add("clock_drift_ms", float64(used.drift)/1e6, 1, reasonClock, "the wall clock was set during the stage")
	tokenChecks(r, exact, add)
	return append(out, findings(in, r)...)
}

// adder returns what appends a check to out.
func adder(out *[]report.Check) addCheck {
	return func(name string, value, limit float64, reason, text string) {
		c := report.Check{Name: name, Value: value, Limit: limit, OK: value <= limit}
		if !c.OK {
			c.Reason, c.Text = reason, text
		}
		*out = append(*out, c)
	}
}

// findings are what is said of a stage that takes nothing from its numbers.
func findings(in *record.Stage, r *report.StageResult) []report.Check {
	var out []report.Check
	if c, ok := trendCheck(in, r); ok {
		out = append(out, c)
	}
	if c, ok := waitCheck(r); ok {
		out = append(out, c)
	}
	return out
}

// waitShare of the time to the first token may pass before the send until latencies from the send mislead.
const waitShare = 0.1

// waitCheck sees requests wait before they are sent: a finding, because latencies from the intended send have the wait
// in them.
func waitCheck(r *report.StageResult) (report.Check, bool) {
	ttft, ok := r.Metrics["ttft_intended"]
	if !ok {
		return report.Check{}, false
	}
	c := report.Check{Name: "wait_before_send_p99_ms", Limit: waitShare * ttft.Quantiles["p99"], Note: true,
		Value: r.Metrics["queue_wait"].Quantiles["p99"] + r.Metrics["sched_lag"].Quantiles["p99"]}
	c.OK = c.Value <= c.Limit
	if !c.OK {
		c.Reason = reasonWait
		c.Text = fmt.Sprintf("requests waited %.3g ms (p99) before they were sent: only latencies from the intended send show it", c.Value)
	}
	return c, true
}

type addCheck func(name string, value, limit float64, reason, text string)

// scheduleChecks compare what was sent with what should have been.
func scheduleChecks(in *record.Stage, r *report.StageResult, add addCheck) {
	limit, offered := 1.0, r.Rates["offered_rate"]
	switch {
	case in.Plan.Shape == runplan.ShapeOpen && in.Rate > 0:
		limit = max(limit, 0.01*1000/in.Rate)
	case offered > 0:
		limit = max(limit, 0.01*1000/offered)
	}
	lagCheck(r, "sched_lag", limit, add, reasonSchedule, "requests were sent later than planned")
	if offered > 0 && in.Plan.MaxInflight == 0 {
		achieved := r.Rates["achieved_rate"] + refusedRate(r) // a server that takes no connection is no fault of ours
		// One request over a border of the window is no missed schedule, however few there are.
		allowed := max(0.005, 1.5/math.Max(1, float64(r.Counts.Total)))
		add("achieved_rate_gap", math.Abs(achieved/offered-1), allowed, reasonSchedule,
			fmt.Sprintf("%.3f requests per second were sent instead of %.3f", achieved, offered))
	}
}

// fewFactor is by how much more the p99 of few requests may be late, because it is hardly another than their largest.
const fewFactor = 10

// lagCheck holds the p99 of a lag against its limit. Fewer than a thousand requests say little of a p99: it is held
// against a higher limit then, and the highest quantile that they do tell against the limit itself.
func lagCheck(r *report.StageResult, metric string, limit float64, add addCheck, reason, text string) {
	lag, ok := r.Metrics[metric]
	if !ok {
		return
	}
	if !report.LowN(lag.N, 99) {
		add(metric+"_p99_ms", lag.Quantiles["p99"], limit, reason, text)
		return
	}
	add(metric+"_p99_ms", lag.Quantiles["p99"], fewFactor*limit, reason, text)
	known := 50.0
	for _, q := range []float64{75, 90, 95} {
		if !report.LowN(lag.N, q) {
			known = q
		}
	}
	name := fmt.Sprintf("p%g", known)
	add(metric+"_"+name+"_ms", lag.Quantiles[name], limit, reason, text)
}

// refusedRate is how many requests per second of the window were due and found nobody to send them to.
func refusedRate(r *report.StageResult) float64 {
	window := float64(r.Window.EndNS-r.Window.StartNS) / 1e9
	if window <= 0 {
		return 0
	}
	return float64(r.Counts.ByClass[report.ErrDial]+r.Counts.ByClass[report.ErrTLS]) / window
}

// tokenChecks compare the tokens with what was asked.
func tokenChecks(r *report.StageResult, exact bool, add addCheck) {
	add("token_sources", float64(len(r.Tokens.Sources)), 1, reasonTokens, "tokens of some requests were counted by another rule")
	ok := r.Counts.ByStatus[report.StatusOK]
	if r.Tokens.Out > 0 {
		add("hidden_token_share", float64(r.Tokens.Hidden)/float64(r.Tokens.Out), 0.01, reasonTokens, "the server counts tokens that it never sent")
	}
	if exact && ok > 0 && r.Tokens.OutAsked > 0 {
		add("inexact_length_share", 1-float64(r.Tokens.ExactLength)/float64(ok), 0.01, reasonTokens, "answers have not the length that was asked")
	}
	if asked, got := r.Tokens.InAsked, r.Tokens.InOfAsked; asked > 0 && got > 0 {
		add("input_length_gap", math.Abs(float64(got)/float64(asked)-1), 0.02, reasonTokens, "prompts have not the length that was asked")
	}
}

// trendCheck sees requests pile up over the window: a finding about the server, not a fault of the measurement.
func trendCheck(in *record.Stage, r *report.StageResult) (report.Check, bool) {
	var xs, ys []float64
	for i, s := range r.Series {
		from := r.StartNS + int64(i)*1e9
		if from >= r.Window.StartNS && from+1e9 <= r.Window.EndNS {
			xs, ys = append(xs, float64(i)), append(ys, s.InFlight)
		}
	}
	if in.ClosedLoop() || len(xs) < 10 {
		return report.Check{}, false
	}
	c := report.Check{Name: "in_flight_rising", Limit: 0, OK: true, Note: true}
	first, last := mean(ys[:len(ys)/3]), mean(ys[len(ys)*2/3:])
	if verdict.Rising(xs, ys, 0.95, 0.5) && last > 1.5*first+1 {
		c.Value, c.OK, c.Reason = 1, false, reasonServer
		c.Text = fmt.Sprintf("requests in flight rose from %.1f to %.1f: the server does not keep up with this rate", first, last)
	}
	return c, true
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(max(1, len(xs)))
}
