package loadgen

import (
	"slices"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim"
)

// clockSlack is how far the wall clock and the monotonic one may have moved against each other during a test.
const clockSlack = int64(1e6)

func TestStampsEncloseWhatTheEngineDid(t *testing.T) {
	for _, stage := range []runplan.Stage{closedLoop(8, 100), openLoop(100, 1)} {
		b := makeBench(t, sim.Config{}, stage)
		r := b.measure(t)
		truth := map[string]sim.Record{}
		for _, rec := range b.truthFor(t, r) {
			truth[rec.RequestID] = rec
		}
		var late []float64
		for _, row := range r.rows {
			rec := truth[row.ID]
			unix := func(stamp *int64) int64 { return r.header.AnchorUnixNS + *stamp }
			if unix(row.TSend) > rec.ArrivalUnix+clockSlack {
				t.Errorf("row %q was sent %d ns after it arrived", row.ID, unix(row.TSend)-rec.ArrivalUnix)
			}
			for i, stamp := range map[int]*int64{0: row.TFirst, len(rec.Events) - 1: row.TLast} {
				if sent := rec.ArrivalUnix + rec.Events[i]; unix(stamp) < sent-clockSlack {
					t.Errorf("row %q: token event %d was read %d ns before it was sent", row.ID, i, sent-unix(stamp))
				}
			}
			if *row.TokensOut != rec.OutputTokens || *row.Events != len(rec.Events) {
				t.Errorf("row %q: %d tokens in %d events, the engine sent %d in %d", row.ID, *row.TokensOut, *row.Events,
					rec.OutputTokens, len(rec.Events))
			}
			late = append(late, float64(rec.ArrivalUnix-r.header.AnchorUnixNS-row.TIntended)/1e6)
		}
		slices.Sort(late)
		t.Logf("%s loop: requests arrived after their intended send by p50 %.3f ms, p99 %.3f ms", stage.Shape,
			report.Percentile(late, 50), report.Percentile(late, 99))
	}
}
