package loadgen

import (
	"math"
	"testing"
	"time"

	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/loadgen/omission"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/runplan"
)

// TestNoWaitIsOmitted has the engine stand still for 1 s of 10 at 100 requests per second: the percentile from the
// intended sends must be the analytic one within 2 %, with a cap too, where that from the sends hides the freeze.
func TestNoWaitIsOmitted(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds")
	}
	for name, limit := range map[string]int{"without a cap": 0, "with a cap of 10": 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := omission.Case{Rate: 100, Window: 10 * time.Second, At: 4005 * time.Millisecond, Freeze: time.Second,
				TTFT: 20 * time.Millisecond, E2E: 50 * time.Millisecond, Cap: limit}
			s := openLoop(want.Rate, 10)
			s.MaxInflight = limit
			b := makeBench(t, sim.Config{Sim: runplan.Sim{TTFT: seconds(0.02), ITL: seconds(0.01)}}, s)
			b.plan.Measurements[0].Data.Output.Mean = 4
			freeze(t, b, want.At, want.Freeze)
			r := b.measure(t)
			if n := r.stages[0].Counts.ByStatus[report.StatusOK]; n != 1000 {
				t.Fatalf("%d requests are ok, want 1000", n)
			}
			for _, p := range []struct {
				name string
				p    float64
			}{{"p95", 95}, {"p99", 99}} {
				got, analytic := r.stages[0].Metrics["ttft_intended"].Quantiles[p.name], want.TTFTIntended(p.p).Seconds()*1000
				t.Logf("ttft_intended %s %.1f ms, analytic %.1f", p.name, got, analytic)
				if math.Abs(got/analytic-1) > 0.02 {
					t.Errorf("ttft_intended %s is %.1f ms, want %.1f within 2 %%", p.name, got, analytic)
				}
			}
			if fromSend := r.stages[0].Metrics["ttft"].Quantiles["p95"]; limit > 0 && fromSend > 100 {
				t.Errorf("ttft p95 from the send is %.1f ms: the cap did not hide the freeze, so this test shows nothing", fromSend)
			}
		})
	}
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
