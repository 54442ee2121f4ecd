package loadgen

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/sim"
)

// crowded is a load of which all but two requests wait for a place in flight.
func crowded(t *testing.T, stop ...runplan.StopRule) *bench {
	t.Helper()
	s := openLoop(500, 30)
	s.MaxInflight, s.Stop = 2, stop
	b := makeBench(t, sim.Config{Sim: runplan.Sim{TTFT: seconds(0.1)}}, s)
	b.plan.Measurements[0].Data.Output.Mean = 1
	return b
}

func TestNothingThatWaitsIsSentAfterAnInterruption(t *testing.T) {
	b := crowded(t)
	ctx, interrupt := context.WithCancel(t.Context())
	b.after(ctx, 6, interrupt)
	if code := b.run(ctx, t); code != contract.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	r := b.results(t)
	checkNothingSentAfter(t, r)
	if counts := r.stages[0].Counts.ByStatus; counts[report.StatusCancelled] < 50 ||
		counts[report.StatusOK]+counts[report.StatusCancelled] != len(r.rows) {
		t.Errorf("counts %v of %d rows", counts, len(r.rows))
	}
}

// checkNothingSentAfter demands that a stage that something ended has sent nothing from then on.
func checkNothingSentAfter(t *testing.T, r results) {
	t.Helper()
	end := r.stages[0].EndNS - r.header.AnchorUnixNS
	for _, row := range r.rows {
		if row.TSend != nil && *row.TSend-row.Dial > end { // one that connects when the stage ends is in flight
			t.Errorf("row %q is %s: it was sent %d ns after the end of the stage", row.ID, row.Status, *row.TSend-end)
		}
	}
}

func TestNothingThatWaitsIsSentAfterAStopRule(t *testing.T) {
	b := crowded(t, runplan.StopRule{Kind: "max_errors", Numbers: map[string]float64{"count": 6}})
	b.engine.Inject(runplan.Fault{Kind: runplan.FaultTruncated}, b.engine.Now())
	b.plan.Measurements[0].API.Retry = &runplan.Retry{Attempts: 5, Backoff: seconds(10)}
	r := b.measure(t)
	checkNothingSentAfter(t, r)
	counts := r.stages[0].Counts.ByStatus
	if r.stages[0].Ended != "max_errors" || counts[report.StatusFailed] > 8 || counts[report.StatusCut] < 20 {
		t.Errorf("ended by %q, counts %v", r.stages[0].Ended, counts)
	}
}

func TestAnInterruptionDoesNotWaitForAnotherAttempt(t *testing.T) {
	b := makeBench(t, sim.Config{}, closedLoop(4, 100))
	b.plan.Measurements[0].API.Retry = &runplan.Retry{Attempts: 3, Backoff: seconds(3600)}
	b.engine.Inject(runplan.Fault{Kind: runplan.FaultHTTP500}, b.engine.Now())
	ctx, interrupt := context.WithCancel(t.Context())
	b.after(ctx, 4, interrupt)
	b.run(ctx, t)
	r := b.results(t)
	// What is not over when it is interrupted may take five seconds more; what only waits takes none.
	if drained := r.stages[0].DrainEndNS - r.stages[0].EndNS; drained >= int64(drainInterrupted) || len(r.rows) != 4 {
		t.Errorf("it took %d ns to end, %d rows", drained, len(r.rows))
	}
	for _, row := range r.rows {
		if row.Status != report.StatusFailed || row.ErrorClass != report.ErrHTTP5xx {
			t.Errorf("%+v", row)
		}
	}
}

func TestTimeOfFailedAttemptsIsNoLatenessOfOurs(t *testing.T) {
	b := makeBench(t, sim.Config{}, closedLoop(1, 3))
	const attempts, backoff = 3, int64(50e6)
	b.plan.Measurements[0].API.Retry = &runplan.Retry{Attempts: attempts - 1, Backoff: seconds(0.05)}
	b.engine.Inject(runplan.Fault{Kind: runplan.FaultHTTP500}, b.engine.Now())
	freeze(t, b, 25*time.Millisecond, 500*time.Millisecond) // which the second attempt of the first request meets
	r := b.measure(t)
	for _, row := range r.rows {
		got := putAgain(t, b, row.ID, attempts)
		// A busy host makes every attempt late, and the lag of the row is that of all: each was due its backoff after the
		// attempt before it was answered.
		late := got[0].ArrivalUnix - r.header.AnchorUnixNS - row.TIntended
		for i := range attempts - 1 {
			late += got[i+1].Arrival - got[i].FirstByte - backoff<<i
		}
		if lag := *row.TSend - row.TIntended - row.QueueWait - row.Dial; lag > late+clockSlack || row.QueueWait < 3*backoff {
			t.Errorf("lag %d, the attempts came %d after their times, waited %d", lag, late, row.QueueWait)
		}
	}
}

// putAgain returns the attempts of a request, in their order, when the engine has written down so many.
func putAgain(t *testing.T, b *bench, id string, attempts int) (got []sim.Record) {
	t.Helper()
	eventually.Nil(t, "the engine has written down every attempt", func() error {
		got = slices.DeleteFunc(b.engine.Truth(), func(rec sim.Record) bool { return rec.RequestID != id })
		if len(got) != attempts {
			return fmt.Errorf("%q was put %d times, want %d", id, len(got), attempts)
		}
		return nil
	})
	slices.SortFunc(got, func(a, b sim.Record) int { return int(a.Arrival - b.Arrival) })
	return got
}

func TestShardsWithoutASlotLeaveTheirPartToTheOthers(t *testing.T) {
	load := func(b *bench) { b.plan.Measurements[0].Stages = []runplan.Stage{closedLoop(2, 31)} }
	if diff := cmp.Diff(what(shards(t, 1, load)), what(shards(t, 4, load))); diff != "" {
		t.Errorf("(-one process, +four shards of two slots):\n%s", diff)
	}
}

func TestASlotThatCannotConnectWaits(t *testing.T) {
	s := &slot{}
	waits := []int64{s.backOff(report.ErrDial), s.backOff(report.ErrTLS), s.backOff(report.ErrDial),
		s.backOff(report.ErrReset), s.backOff(report.ErrTLS)}
	if diff := cmp.Diff([]int64{10e6, 20e6, 40e6, 0, 10e6}, waits); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTurnsDoNotLengthenTheWindow(t *testing.T) {
	s := openLoop(100, 0)
	s.Duration, s.Requests = 0, 60
	b := makeBench(t, sim.Config{}, s)
	b.plan.Measurements[0].Data.Turns = 3
	r := b.measure(t)
	last := int64(0)
	for _, row := range r.rows {
		last = max(last, *row.TSend)
	}
	if end := r.stages[0].EndNS - r.header.AnchorUnixNS; len(r.rows) != 60 || end > last+20e6 {
		t.Errorf("%d requests, the last sent at %d, and the window ends at %d", len(r.rows), last, end)
	}
}
