package loadgen

import (
	"math"
	"testing"
	"time"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/loadgen/omission"
)

// TestNoWaitIsOmitted has the engine stand still for 1 s of 10 at 100 requests per second: the percentile from the
// intended sends must be the analytic one within 2 %, with a cap too, where that from the sends hides the freeze. A
// busy host adds to what is measured and takes nothing from it, between the engine's stamp and its write as well: so
// the lower bounds always hold, and an upper one of the time at which the engine had written all of an answer; those of
// the first token hold where engine and load-gen say that they came on time.
func TestNoWaitIsOmitted(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds")
	}
	for name, limit := range map[string]int{"without a cap": 0, "with a cap of 10": 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := omission.Case{Rate: 100, Window: 10 * time.Second, At: 4005 * time.Millisecond, Freeze: time.Second,
				TTFT: 20 * time.Millisecond, E2E: 50 * time.Millisecond, Cap: limit}
			b, r := measureFrozen(t, want)
			checkIntended(t, want, r.rows)
			saw := newWaits(r, b.truthFor(t, r))
			late := time.Duration(b.engine.Stats().Lateness.P99)
			checkWaits(t, want, r, saw, late <= maxEngineLateness && invalid(&r.stages[0]) == "")
		})
	}
}

// measureFrozen lets load-gen measure the case.
func measureFrozen(t *testing.T, c omission.Case) (*bench, results) {
	t.Helper()
	s := openLoop(c.Rate, c.Window.Seconds())
	s.MaxInflight = c.Cap
	b := makeBench(t, sim.Config{Sim: runplan.Sim{TTFT: seconds(c.TTFT.Seconds()), ITL: seconds(0.01)}}, s)
	b.plan.Measurements[0].Data.Output.Mean = 4
	freeze(t, b, c.At, c.Freeze)
	return b, b.measure(t)
}

// waits are what the engine saw of a load, in ms from the intended sends.
type waits struct {
	first map[string]int64 // Unix time at which the first token of a request was about to be written
	began []float64        // until then, for each request
	ended []float64        // until the whole answer was written
}

func newWaits(r results, truth []sim.Record) waits {
	w := waits{first: firstTokens(truth)}
	records := map[string]sim.Record{}
	for _, rec := range truth {
		records[rec.RequestID] = rec
	}
	for _, row := range r.rows {
		rec, at := records[row.ID], r.header.AnchorUnixNS+row.TIntended
		w.began = append(w.began, float64(w.first[row.ID]-at)/1e6)
		w.ended = append(w.ended, float64(rec.ArrivalUnix+rec.End-rec.Arrival-at)/1e6)
	}
	return w
}

// firstTokens are the Unix times at which the engine sent the first token of each request.
func firstTokens(truth []sim.Record) map[string]int64 {
	first := map[string]int64{}
	for _, rec := range truth {
		if len(rec.Events) > 0 {
			first[rec.RequestID] = rec.ArrivalUnix + rec.Events[0]
		}
	}
	return first
}

// checkIntended demands that no wait moves an intended send, and that requests wait for a place in flight only where
// places are counted.
func checkIntended(t *testing.T, c omission.Case, rows []report.Row) {
	t.Helper()
	for i, row := range rows {
		at := rows[0].TIntended + int64(math.Round(float64(i)*1e9/c.Rate))
		if off := row.TIntended - at; off < -1 || off > 1 {
			t.Errorf("request %d is intended %d ns off its time", i, off)
		}
		if c.Cap == 0 && row.QueueWait != 0 {
			t.Errorf("request %d waited %d ns for a place in flight, of which there are enough", i, row.QueueWait)
		}
	}
	if most := mostInFlight(rows); c.Cap > 0 && most > c.Cap {
		t.Errorf("%d requests were in flight, %d are allowed", most, c.Cap)
	}
}

// checkWaits compares what load-gen says with what the engine saw, request by request, and with the case.
func checkWaits(t *testing.T, c omission.Case, r results, saw waits, onTime bool) {
	t.Helper()
	stage := r.stages[0]
	if n := stage.Counts.ByStatus[report.StatusOK]; n != 1000 {
		t.Fatalf("%d requests are ok, want 1000", n)
	}
	for _, row := range r.rows {
		wait := saw.first[row.ID] - r.header.AnchorUnixNS - row.TIntended
		if said := *row.TFirst - row.TIntended; said < wait-clockSlack {
			t.Errorf("%q: a wait of %d ns for the first token is said to be one of %d ns", row.ID, wait, said)
		}
	}
	for name, p := range map[string]float64{"p95": 95, "p99": 99} {
		ms, analytic := stage.Metrics["ttft_intended"].Quantiles[name], c.TTFTIntended(p).Seconds()*1000
		engine, ended := omission.Percentile(saw.began, p), omission.Percentile(saw.ended, p)
		t.Logf("ttft_intended %s is %.1f ms, the engine saw %.1f, analytic is %.1f; both came on time: %v", name, ms, engine,
			analytic, onTime)
		if ms < 0.98*analytic || onTime && ms > 1.02*analytic {
			t.Errorf("ttft_intended %s is %.1f ms, want %.1f", name, ms, analytic)
		}
		if ms < 0.98*engine || onTime && ms > 1.02*engine {
			t.Errorf("ttft_intended %s is %.1f ms, the engine saw %.1f", name, ms, engine)
		}
		if ms > 1.02*ended {
			t.Errorf("ttft_intended %s is %.1f ms, and after %.1f the engine had written the whole answer", name, ms, ended)
		}
	}
	if fromSend, intended := stage.Metrics["ttft"].Quantiles["p95"],
		stage.Metrics["ttft_intended"].Quantiles["p95"]; c.Cap > 0 && fromSend > intended/4 {
		t.Errorf("ttft p95 from the send is %.1f ms, from the intended send %.1f ms: the cap did not hide the freeze",
			fromSend, intended)
	}
}

// freeze has the engine stand still so long after the first request of the load.
func freeze(t *testing.T, b *bench, after, length time.Duration) {
	t.Helper()
	go func() {
		eventually.Happens(t.Context(), func() bool {
			for _, r := range b.engine.Truth() {
				if r.RequestID == "r-1-m0-r0-s0-0-0" {
					b.engine.Inject(runplan.Fault{Kind: runplan.FaultFreeze, After: runplan.Duration(after),
						Duration: runplan.Duration(length)}, r.Arrival)
					return true
				}
			}
			return false
		})
	}()
}
