package loadgen

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/verdict"
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
func checks(in *record.Stage, r *report.StageResult, used self, m *runplan.Measurement,
	slo *runplan.SLO) []report.Check {
	var out []report.Check
	add := adder(&out)
	scheduleChecks(in, r, m.Data.Think.D(), add)
	out = append(out, latenessChecks(r, verdict.Counted(slo, r))...)
	out = append(out, causes(r, used)...)
	if n := r.Counts.All; n > 0 {
		add("connections_per_request", float64(used.conns.Churn)/float64(n), 0.01, reasonChurn,
			"the server closes connections that could be kept")
	}
	add("clock_drift_ms", float64(used.drift)/1e6, 1, reasonClock, "the wall clock was set during the stage")
	tokenChecks(r, m.API.ExactOutput, add)
	return append(out, findings(in, r)...)
}

// causes are why a client may be late. Where the stamps of the kernel tell how late it was they are findings: what it
// has changed is judged by itself.
func causes(r *report.StageResult, used self) []report.Check {
	var out []report.Check
	add := adder(&out)
	wall := float64(r.DrainEndNS-r.StartNS) / 1e9
	add("run_queue_share", used.longest.Seconds()/wall, 0.05, reasonClient,
		"load-gen waited for a processor: give it a core of its own")
	add("cpu_share", used.cpu.Seconds()/wall/used.limit, 0.8, reasonClient,
		"load-gen used more than 80 % of its processors")
	if used.throttled >= 0 {
		add("throttled_share", used.throttled, 0.05, reasonClient, "the processor quota of load-gen throttled it")
	}
	add("gc_pause_max_ms", float64(used.gcPause)/1e6, 1, reasonClient, "a garbage collection stopped load-gen")
	_, known := r.Metrics["client_lag"]
	for i := range out {
		out[i].Note = known
	}
	return out
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
		c.Text = fmt.Sprintf(
			"requests waited %.3g ms (p99) before they were sent: only latencies from the intended send show it", c.Value)
	}
	return c, true
}

type addCheck func(name string, value, limit float64, reason, text string)

// lateShare is the part of its time that a request may spend in the client's own lateness.
const lateShare = 0.01

// scheduleChecks compare what was sent with what should have been. A request that is sent late is in flight late: in a
// closed loop that is load that was never there, in an open one load at another time.
func scheduleChecks(in *record.Stage, r *report.StageResult, think time.Duration, add addCheck) {
	if lag, e2e := r.Metrics["sched_lag"], r.Metrics["e2e"]; lag.N > 0 && e2e.N > 0 &&
		(in.ClosedLoop() || lag.Mean > leastLag) {
		share := lag.Mean / (lag.Mean + e2e.Mean + think.Seconds()*1000)
		add("late_send_share", share, lateShare, reasonSchedule,
			fmt.Sprintf("requests were sent %.3g ms late on average: so much of the load was missing, or came at another time",
				lag.Mean))
	}
	offered := r.Rates["offered_rate"]
	if offered > 0 && in.Plan.MaxInflight == 0 {
		achieved := r.Rates["achieved_rate"] + refusedRate(r) // a server that takes no connection is no fault of ours
		// One request over a border of the window is no missed schedule, however few there are.
		allowed := max(0.005, 1.5/math.Max(1, float64(r.Counts.Total)))
		add("achieved_rate_gap", math.Abs(achieved/offered-1), allowed, reasonSchedule,
			fmt.Sprintf("%.3f requests per second were sent instead of %.3f", achieved, offered))
	}
}

// leastLag is a mean lateness in ms that is nobody's concern in an open loop, however short its requests are.
const leastLag = 0.05

// latenessChecks say which numbers lateness of the client has changed, of those that count and of the others.
func latenessChecks(r *report.StageResult, counted []report.Number) []report.Check {
	read := report.Check{Name: "read_lateness", Limit: 1, OK: true}
	sent := report.Check{Name: "send_lateness", Limit: 1, OK: true}
	for _, s := range r.Shifts {
		c, reason, why := &read, reasonClient,
			"answers were read late: give load-gen a core of its own, or divide the load among shards"
		if strings.HasSuffix(s.Metric, "_intended") {
			c, reason, why = &sent, reasonSchedule, "requests were sent late"
		}
		c.Touches = append(c.Touches, s.Number)
		times := math.Abs(s.By) / s.Limit
		if !slices.Contains(counted, s.Number) || times <= c.Value {
			continue
		}
		c.Value, c.OK, c.Reason = times, false, reason
		c.Text = fmt.Sprintf("%s: %s is wrong by %.3g ms, where %.3g are allowed", why, s.Number, math.Abs(s.By), s.Limit)
	}
	return []report.Check{read, sent}
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
	add("token_sources", float64(len(r.Tokens.Sources)), 1, reasonTokens,
		"tokens of some requests were counted by another rule")
	ok := r.Counts.ByStatus[report.StatusOK]
	if r.Tokens.Out > 0 {
		add("hidden_token_share", float64(r.Tokens.Hidden)/float64(r.Tokens.Out), 0.01, reasonTokens,
			"the server counts tokens that it never sent")
	}
	if exact && ok > 0 && r.Tokens.OutAsked > 0 {
		add("inexact_length_share", 1-float64(r.Tokens.ExactLength)/float64(ok), 0.01, reasonTokens,
			"answers have not the length that was asked")
	}
	if asked, got := r.Tokens.InAsked, r.Tokens.InOfAsked; asked > 0 && got > 0 {
		add("input_length_gap", math.Abs(float64(got)/float64(asked)-1), 0.02, reasonTokens,
			"prompts have not the length that was asked")
	}
}

// trendCheck sees requests pile up over the window: a finding about the server, not a fault of the measurement.
func trendCheck(in *record.Stage, r *report.StageResult) (report.Check, bool) {
	var xs, ys []float64
	for i, s := range r.WindowSeries() {
		xs, ys = append(xs, float64(i)), append(ys, s.InFlight)
	}
	if in.ClosedLoop() || len(xs) < 10 {
		return report.Check{}, false
	}
	c := report.Check{Name: "in_flight_rising", Limit: 0, OK: true, Note: true}
	first, last := mean(ys[:len(ys)/3]), mean(ys[len(ys)*2/3:])
	if verdict.Rising(xs, ys, 0.95, 0.5) && last > 1.5*first+1 {
		c.Value, c.OK, c.Reason = 1, false, reasonServer
		c.Text = fmt.Sprintf("requests in flight rose from %.1f to %.1f: the server does not keep up with this rate", first,
			last)
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
