package loadgen

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/loadgen/omission"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/runplan"
)

// TestNoWaitIsOmitted has the engine stand still for 1 s of 10 at 100 requests per second: the percentile from the
// intended sends must be the analytic one within 2 %, with a cap too, where that from the sends hides the freeze. A host
// that stands still itself makes an attempt useless, so there are three; what load-gen gets wrong, it does in each.
func TestNoWaitIsOmitted(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds")
	}
	for name, limit := range map[string]int{"without a cap": 0, "with a cap of 10": 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := omission.Case{Rate: 100, Window: 10 * time.Second, At: 4005 * time.Millisecond, Freeze: time.Second,
				TTFT: 20 * time.Millisecond, E2E: 50 * time.Millisecond, Cap: limit}
			var wrong []string
			for range 3 {
				if wrong = compareFrozen(want, measureFrozen(t, want)); len(wrong) == 0 {
					return
				}
				t.Log(strings.Join(wrong, "; "))
			}
			t.Errorf("in none of three attempts: %s", strings.Join(wrong, "; "))
		})
	}
}

// measureFrozen lets load-gen measure the case.
func measureFrozen(t *testing.T, c omission.Case) report.StageResult {
	t.Helper()
	s := openLoop(c.Rate, c.Window.Seconds())
	s.MaxInflight = c.Cap
	b := makeBench(t, sim.Config{Sim: runplan.Sim{TTFT: seconds(c.TTFT.Seconds()), ITL: seconds(0.01)}}, s)
	b.plan.Measurements[0].Data.Output.Mean = 4
	freeze(t, b, c.At, c.Freeze)
	return b.measure(t).stages[0]
}

// compareFrozen says what is more than 2 % off the case. A host that is busy adds to what is measured, and takes nothing
// from it: where load-gen says of itself that it came too late, ten times as much is granted above, and none below.
func compareFrozen(want omission.Case, got report.StageResult) (wrong []string) {
	if n := got.Counts.ByStatus[report.StatusOK]; n != 1000 {
		wrong = append(wrong, fmt.Sprintf("%d requests are ok, want 1000", n))
	}
	above := 0.02
	if slices.ContainsFunc(got.Checks, func(c report.Check) bool { return !c.OK && c.Reason == reasonClient }) {
		above = 0.2
	}
	for name, p := range map[string]float64{"p95": 95, "p99": 99} {
		ms, analytic := got.Metrics["ttft_intended"].Quantiles[name], want.TTFTIntended(p).Seconds()*1000
		if off := ms/analytic - 1; off < -0.02 || off > above {
			wrong = append(wrong, fmt.Sprintf("ttft_intended %s is %.1f ms, want %.1f, at most 2 %% less and %.0f %% more", name, ms, analytic, 100*above))
		}
	}
	if fromSend := got.Metrics["ttft"].Quantiles["p95"]; want.Cap > 0 && fromSend > 100 {
		wrong = append(wrong, fmt.Sprintf("ttft p95 from the send is %.1f ms: the cap did not hide the freeze", fromSend))
	}
	return wrong
}

// freeze has the engine stand still so long after the first request of the load.
func freeze(t *testing.T, b *bench, after, length time.Duration) {
	t.Helper()
	go func() {
		for t.Context().Err() == nil {
			for _, r := range b.engine.Truth() {
				if r.RequestID == "r-1-m0-r0-s0-0-0" {
					b.engine.Inject(runplan.Fault{Kind: runplan.FaultFreeze, After: runplan.Duration(after), Duration: runplan.Duration(length)}, r.Arrival)
					return
				}
			}
			time.Sleep(time.Millisecond)
		}
	}()
}
