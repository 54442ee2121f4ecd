package loadgen

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/sim"
)

// randomPlan draws a load from r, and after how many of its requests it is interrupted, 0 = never.
func randomPlan(r *rand.Rand, b *bench) (interrupt int) {
	pick := func(share float64) bool { return r.Float64() < share }
	m := &b.plan.Measurements[0]
	m.Data.Turns = 1 + r.IntN(3)
	if pick(0.5) {
		m.Data.Think = seconds(0.002 + 0.03*r.Float64())
	}
	if pick(0.2) {
		m.Data.Conversations = 5 + r.IntN(40)
		m.Data.Reuse = pick(0.5)
	}
	s := runplan.Stage{Name: "random", Measure: true, Shape: []string{runplan.ShapeOpen, runplan.ShapeClosed,
		runplan.ShapeThroughput}[r.IntN(3)]}
	switch s.Shape {
	case runplan.ShapeOpen:
		s.Rate, s.Arrival = 50+400*r.Float64(), []string{"constant", "poisson"}[r.IntN(2)]
		if pick(0.6) {
			s.MaxInflight, s.OnFull = 1+r.IntN(8), []string{"queue", "drop"}[r.IntN(2)]
		}
	case runplan.ShapeThroughput:
		s.MaxInflight = r.IntN(2) * (1 + r.IntN(16))
	default:
		s.Concurrency, s.SlotPer = 1+r.IntN(12), []string{"", "session", "request"}[r.IntN(3)]
	}
	if pick(0.3) {
		s.Ramp = seconds(0.1)
	}
	if s.Duration = seconds(0.2 + 0.3*r.Float64()); pick(0.5) {
		s.Requests = 1 + r.IntN(150)
		if pick(0.5) {
			s.Duration = 0
		}
	}
	if pick(0.4) {
		d := []runplan.Duration{0, seconds(0.05), seconds(2)}[r.IntN(3)]
		s.Drain = &d
	}
	if pick(0.3) {
		s.Stop = []runplan.StopRule{{Kind: "max_errors", Numbers: map[string]float64{"count": float64(1 + r.IntN(10))}}}
	}
	if pick(0.3) {
		m.API.Cancel = &runplan.Cancel{Share: 0.3, After: seconds(0.02 * r.Float64())}
	}
	if pick(0.3) {
		m.API.Retry = &runplan.Retry{Attempts: 1 + r.IntN(3), Backoff: seconds(0.02 * r.Float64())}
	}
	if pick(0.3) {
		m.API.ReadTimeout = seconds(0.03)
	}
	m.Stages = []runplan.Stage{s}
	if pick(0.2) {
		interrupt = 1 + int(30*r.Float64())
	}
	return interrupt
}

// troubles of the engine that a plan may meet.
var troubles = []runplan.Fault{
	{Kind: runplan.FaultHTTP500, Share: 0.2}, {Kind: runplan.FaultHTTP429, Share: 0.2},
	{Kind: runplan.FaultReset, Share: 0.2},
	{Kind: runplan.FaultStall, Share: 0.05}, {Kind: runplan.FaultResetReused, Share: 0.3},
	{Kind: runplan.FaultFreeze, Duration: seconds(0.1)},
}

func TestRandomLoadsLoseAndDoubleNothing(t *testing.T) {
	for seed := range uint64(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			b := makeBench(t, sim.Config{Sim: runplan.Sim{TTFT: seconds(0.005), ITL: seconds(0.002),
				MaxNumSeqs: 1 + r.IntN(32)}})
			interrupt := randomPlan(r, b)
			b.plan.Measurements[0].API.Timeout = seconds(0.5)
			if r.IntN(2) == 0 {
				b.engine.Inject(troubles[r.IntN(len(troubles))], b.engine.Now())
			}
			t.Logf("interrupted after %d requests: %+v %+v", interrupt, b.plan.Measurements[0].Stages[0],
				b.plan.Measurements[0].API)
			ctx, cancel := context.WithCancel(eventually.Context(t))
			defer cancel()
			if interrupt > 0 {
				b.after(ctx, interrupt, cancel)
			}
			if code := b.run(ctx, t); code != 0 && (code != contract.ExitInterrupted || interrupt == 0) {
				t.Fatalf("exit code %d", code)
			}
			checkLoad(t, b, b.results(t))
		})
	}
}

// checkLoad demands what holds of every load.
func checkLoad(t *testing.T, b *bench, r results) {
	t.Helper()
	m := &b.plan.Measurements[0]
	s := m.Stages[0]
	if len(r.stages) == 0 {
		return // it was interrupted before the stage
	}
	counts := r.stages[0].Counts
	if counts.All != len(r.rows) {
		t.Errorf("%d requests are counted, %d in rows", counts.All, len(r.rows))
	}
	if s.Requests > 0 && len(r.rows) > s.Requests {
		t.Errorf("%d requests of at most %d", len(r.rows), s.Requests)
	}
	if s.Requests > 0 && len(r.rows) < s.Requests && r.stages[0].Ended == endedRequests {
		t.Errorf("%d requests of %d, and it says that all were sent", len(r.rows), s.Requests)
	}
	byID := map[string]report.Row{}
	for _, row := range r.rows {
		if _, twice := byID[row.ID]; twice {
			t.Errorf("two rows of %q", row.ID)
		}
		byID[row.ID] = row
		checkRow(t, row)
	}
	b.truthFor(t, r)
	checkTruth(t, b, byID, r.stages[0].Client.StaleRetries)
	checkTurns(t, m.Data, byID)
	if limit := inFlightLimit(s); limit > 0 && mostInFlight(r.rows) > limit {
		t.Errorf("%d requests were in flight, %d allowed", mostInFlight(r.rows), limit)
	}
	if m.Data.Conversations == 0 {
		checkPrompts(t, r.rows)
	}
}

// checkRow demands that stamps are in order and that the parts of the wait are no more than the whole.
func checkRow(t *testing.T, row report.Row) {
	t.Helper()
	if row.Status == "" {
		t.Errorf("row %q has no status", row.ID)
	}
	last := row.TIntended
	for i, stamp := range []*int64{row.TSend, row.TFirstByte, row.TFirst, row.TLast, row.TEnd} {
		if stamp == nil {
			continue
		}
		if *stamp < last {
			t.Errorf("row %q (%s): stamp %d is before the one before: %+v", row.ID, row.Status, i, row)
		}
		last = *stamp
	}
	if row.TSend != nil && row.QueueWait+row.Dial > *row.TSend-row.TIntended {
		t.Errorf("row %q: waited %d in the queue and %d to connect, %d in all", row.ID, row.QueueWait, row.Dial,
			*row.TSend-row.TIntended)
	}
}

// checkTruth demands that the engine got every request as often as its row says, and no other; stale requests, of which
// rows do not tell, were put again because a kept connection was gone.
func checkTruth(t *testing.T, b *bench, rows map[string]report.Row, stale int) {
	t.Helper()
	got := map[string]int{}
	for _, truth := range b.engine.Truth() {
		if strings.HasPrefix(truth.RequestID, "r-1-m0-") {
			got[truth.RequestID]++
		}
	}
	for id, n := range got {
		row, ok := rows[id]
		if !ok {
			t.Errorf("the engine got %q, of which there is no row", id)
		} else if most := 1 + row.Retries + stale; n > most {
			t.Errorf("the engine got %q %d times, %d allowed", id, n, most)
		}
	}
	for id, row := range rows {
		if row.Status == report.StatusOK && got[id] == 0 {
			t.Errorf("%q is ok, and the engine never got it", id)
		}
		if row.Status == report.StatusDropped && got[id] > 0 {
			t.Errorf("%q was dropped, and the engine got it", id)
		}
	}
}

// checkTurns demands that a turn comes behind the end of the one before, which was ok.
func checkTurns(t *testing.T, data runplan.Data, rows map[string]report.Row) {
	t.Helper()
	for id, row := range rows {
		if row.Turn >= data.Turns {
			t.Errorf("%q: conversations have %d turns", id, data.Turns)
		}
		if row.Turn == 0 {
			continue
		}
		before, ok := rows[fmt.Sprintf("%s-%d", id[:strings.LastIndex(id, "-")], row.Turn-1)]
		if !ok || before.Status != report.StatusOK || row.TIntended < *before.TEnd+int64(data.Think) {
			t.Errorf("%q is intended for %d, the turn before: %+v", id, row.TIntended, before)
		}
	}
}

// checkPrompts demands that no two conversations begin alike: each object of a conversation has one user.
func checkPrompts(t *testing.T, rows []report.Row) {
	t.Helper()
	seen := map[string]string{}
	for _, row := range rows {
		if other, ok := seen[row.PromptHash]; ok {
			t.Errorf("%q and %q have one prompt", other, row.ID)
		}
		seen[row.PromptHash] = row.ID
	}
}

func inFlightLimit(s runplan.Stage) int {
	if s.Shape == runplan.ShapeClosed {
		return s.Concurrency
	}
	return s.MaxInflight
}

// mostInFlight counts requests between their send and their end.
func mostInFlight(rows []report.Row) int {
	type change struct {
		at int64
		by int
	}
	var changes []change
	for _, row := range rows {
		if row.TSend != nil && row.TEnd != nil {
			changes = append(changes, change{*row.TSend, 1}, change{*row.TEnd, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.by - b.by
	})
	most, now := 0, 0
	for _, c := range changes {
		now += c.by
		most = max(most, now)
	}
	return most
}
