package loadgen

import (
	"cmp"
	"testing"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/record"
)

// judge returns a stage with the checks of an open loop at so many requests per second, or of a closed one where that
// is 0.
func judge(r *report.StageResult, rate float64, slo *runplan.SLO, used self) {
	in := &record.Stage{Plan: runplan.Stage{Shape: runplan.ShapeOpen}, Rate: rate}
	if rate == 0 {
		in.Plan.Shape = runplan.ShapeClosed
	}
	used.limit, used.throttled = cmp.Or(used.limit, 1), -1
	r.StartNS, r.DrainEndNS = 0, int64(10*time.Second)
	r.Checks = checks(in, r, used, &runplan.Measurement{}, slo)
}

func metric(t *testing.T, xs []float64) report.Metric {
	t.Helper()
	m, ok := report.Summarize("ms", xs)
	if !ok {
		t.Fatal("no values")
	}
	return m
}

// spread are n values from from to to.
func spread(n int, from, to float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = from + (to-from)*float64(i)/float64(n)
	}
	return out
}

func TestLatenessIsJudgedByTheNumbersThatItTouches(t *testing.T) {
	shift := func(metric, quantile string, by float64) report.Shift {
		return report.Shift{Number: report.Number{Metric: metric, Quantile: quantile}, By: by, Limit: 0.5}
	}
	gate := &runplan.SLO{Latency: map[string]map[string]runplan.Duration{"ttft": {"p90": runplan.Duration(time.Second)}}}
	for _, row := range []struct {
		name   string
		n      int
		slo    *runplan.SLO
		shifts []report.Shift
		want   string // reason
	}{
		{name: "none", n: 2000},
		{name: "a headline", n: 2000, shifts: []report.Shift{shift("ttft", "p99", 0.6)}, want: reasonClient},
		{name: "a headline that is too small", n: 2000, shifts: []report.Shift{shift("itl", "p99", -0.6)},
			want: reasonClient},
		{name: "a number that nobody looks at", n: 2000, shifts: []report.Shift{shift("ttft", "p99_9", 3),
			shift("ttfb", "p50", 3), shift("e2e", "mean", 3)}},
		{name: "a quantile of too few requests", n: 200, shifts: []report.Shift{shift("ttft", "p99", 3)}},
		{name: "the one that stands for it", n: 200, shifts: []report.Shift{shift("ttft", "p95", 3)}, want: reasonClient},
		{name: "from the intended send, without an objective", n: 2000,
			shifts: []report.Shift{shift("ttft_intended", "p90", 3)}},
		{name: "with an objective", n: 2000, slo: gate, shifts: []report.Shift{shift("ttft_intended", "p90", 3)},
			want: reasonSchedule},
		{name: "of a late read, in the number behind an objective", n: 2000, slo: gate,
			shifts: []report.Shift{shift("ttft", "p90", 3)}, want: reasonClient},
		{name: "another than that of the objective", n: 2000, slo: gate,
			shifts: []report.Shift{shift("ttft_intended", "p99", 3)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := &report.StageResult{Shifts: row.shifts, Metrics: map[string]report.Metric{}}
			for _, name := range []string{"ttft", "ttft_intended", "itl", "e2e"} {
				r.Metrics[name] = metric(t, spread(row.n, 10, 60))
			}
			judge(r, 1000, row.slo, self{})
			if got := invalid(r); got != row.want {
				t.Errorf("reason %q, want %q: %+v", got, row.want, r.Checks)
			}
			touched := 0
			for _, c := range r.Checks {
				touched += len(c.Touches)
			}
			if touched != len(row.shifts) {
				t.Errorf("%d numbers are said to be touched, want %d: %+v", touched, len(row.shifts), r.Checks)
			}
		})
	}
}

func TestLoadThatIsSentLateIsMissing(t *testing.T) {
	for _, row := range []struct {
		name      string
		rate      float64 // 0 = closed loop
		late, e2e float64 // ms
		want      string
	}{
		{name: "a closed loop that loses 2 %", late: 2, e2e: 100, want: reasonSchedule},
		{name: "half a percent", late: 0.5, e2e: 100},
		{name: "a closed loop of short requests", late: 0.03, e2e: 1, want: reasonSchedule},
		{name: "an open loop of short requests", rate: 1000, late: 0.03, e2e: 1},
		{name: "an open loop that is late for 2 %", rate: 100, late: 2, e2e: 100, want: reasonSchedule},
		{name: "as late with long requests", rate: 100, late: 2, e2e: 10_000},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := &report.StageResult{Metrics: map[string]report.Metric{
				"sched_lag": metric(t, few(2000, 2000, row.late)), "e2e": metric(t, few(2000, 2000, row.e2e))}}
			judge(r, row.rate, nil, self{})
			if got := invalid(r); got != row.want {
				t.Errorf("reason %q, want %q: %+v", got, row.want, r.Checks)
			}
		})
	}
}

// few returns n values of which so many are by, the others zero.
func few(n, some int, by float64) []float64 {
	out := make([]float64, n)
	for i := range some {
		out[i] = by
	}
	return out
}

func TestWhatMakesAClientLateIsAFindingWhereItIsKnownHowLateItWas(t *testing.T) {
	for _, known := range []bool{true, false} {
		r := &report.StageResult{Metrics: map[string]report.Metric{}}
		want := reasonClient
		if known {
			r.Metrics["client_lag"], want = metric(t, few(2000, 100, 5)), ""
		}
		judge(r, 1000, nil, self{cpu: 9 * time.Second, longest: time.Second})
		if got := invalid(r); got != want {
			t.Errorf("stamps of the kernel %v: reason %q, want %q", known, got, want)
		}
		if c := findCheck(*r, "cpu_share"); c.OK || c.Note != known {
			t.Errorf("stamps of the kernel %v: %+v", known, c)
		}
	}
}

func TestALoopThatWaitsForItsProcessorIsSeenOnALargeMachine(t *testing.T) {
	r := &report.StageResult{Metrics: map[string]report.Metric{}}
	judge(r, 1000, nil, self{limit: 64, runQueue: time.Second, longest: time.Second})
	if got := invalid(r); got != reasonClient {
		t.Errorf("reason %q: its thread waited a tenth of the time", got)
	}
}
