package assemble

import (
	"math"
	"path/filepath"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
)

// TestThePathDelayIsThatOfWhatWasMeasured reads rows of which the engine has counted two, whose first tokens it sent
// after 20 ms on average.
func TestThePathDelayIsThatOfWhatWasMeasured(t *testing.T) {
	const ms = int64(1e6)
	answer := func(phase string, ttft int64, kept bool, dial int64) report.Row {
		send, first, tokens := ms, ms+ttft*ms, 1
		return report.Row{
			Phase: phase, Status: report.StatusOK, TSend: &send, TFirst: &first, TokensOut: &tokens,
			ConnReused: kept, Dial: dial * ms,
		}
	}
	kept := answer(report.PhaseMeasured, 24, true, 0)
	for _, row := range []struct {
		name         string
		rows         []report.Row
		value, limit float64 // ms
	}{
		{name: "where all connections were kept a round trip is 2 ms", rows: []report.Row{kept, kept}, value: 4, limit: 3},
		{name: "a request of the drain counts too", rows: []report.Row{kept, answer(report.PhaseDrain, 26, true, 0)},
			value: 5, limit: 3},
		{name: "tries that were thrown away do not count", value: 4, limit: 3,
			rows: []report.Row{answer(report.PhaseUnmeasured, 500, true, 0),
				answer(report.PhaseUnmeasured, 500, false, 9), kept, kept}},
		{name: "a new connection shows the round trip",
			rows: []report.Row{kept, answer(report.PhaseMeasured, 24, false, 6)}, value: 4, limit: 7},
		{name: "the wait before one that replaced a kept one is no round trip", value: 4, limit: 7,
			rows: []report.Row{answer(report.PhaseMeasured, 24, false, 900), answer(report.PhaseMeasured, 24, false, 6)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := &measured{
				dir:    t.TempDir(),
				server: map[stageKey]*difference{{}: {histograms: map[string]buckets{"ttft": {n: 2, sum: 0.04}}}},
			}
			w, err := report.CreateRows(filepath.Join(m.dir, contract.FileRequests))
			if err != nil {
				t.Fatal(err)
			}
			for i := range row.rows {
				if err := w.Write(&row.rows[i]); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Finish(report.Header{}); err != nil {
				t.Fatal(err)
			}
			m.readRows()
			// The median over all requests says how long they waited, not how long the way is.
			s := &report.Stage{}
			s.Metrics = map[string]report.Metric{"dial": {Quantiles: map[string]float64{"p50": 450}}}
			m.compareWithServer(s)
			if len(s.Checks) != 1 || s.Checks[0].Name != "path_delay_ms" ||
				math.Abs(s.Checks[0].Value-row.value) > 1e-9 || math.Abs(s.Checks[0].Limit-row.limit) > 1e-9 {
				t.Errorf("checks %+v, want %v ms of %v", s.Checks, row.value, row.limit)
			}
		})
	}
}
