package loadgen

import (
	"context"
	"errors"
	"time"

	"bflow.dev/bflow/tasks/loadgen/client"
	"bflow.dev/bflow/tasks/runplan"
)

// Why a stage ended, beside the kinds of its stop rules.
const (
	endedDuration    = "duration"
	endedRequests    = "requests"
	endedExhausted   = "exhausted" // every conversation of the plan was used
	endedInterrupted = "interrupted"
	endedSkipped     = "skipped"
	endedFailed      = "failed" // results could not be written
)

// errInterrupted is the cause with which a signal ends what is in flight.
var errInterrupted = errors.New("interrupted")

// run puts the load and returns when the last request has ended.
func (d *driver) run(parent context.Context) {
	d.ctx, d.cut = context.WithCancelCause(context.WithoutCancel(parent))
	defer d.cut(nil)
	over := make(chan struct{})
	guarded := make(chan struct{})
	go func() { defer close(guarded); d.guard(parent, over) }()
	if d.plan.Shape == runplan.ShapeOpen {
		d.runOpen()
	} else {
		d.runClosed(d.slots())
	}
	d.stop(d.finishedBy())
	close(over)
	<-guarded
}

// drainInterrupted bounds the wait for requests in flight after a signal.
const drainInterrupted = 5 * time.Second

// guard ends the stage at its duration or on a signal, and what is in flight when its time is up.
func (d *driver) guard(parent context.Context, over <-chan struct{}) {
	limit, cause := time.NewTimer(1<<62), client.ErrCut
	defer limit.Stop()
	if d.plan.Duration > 0 {
		t := time.AfterFunc(time.Duration(d.start)+d.plan.Duration.D()-time.Since(d.anchor), func() { d.stop(endedDuration) })
		defer t.Stop()
		limit.Reset(time.Duration(d.start) + d.plan.Duration.D() + d.drain() - time.Since(d.anchor))
	}
	stopped, interrupted := d.stopped, parent.Done()
	for {
		select {
		case <-over:
			return
		case <-stopped:
			stopped = nil
			if d.ended != endedRequests && d.ended != endedExhausted {
				limit.Reset(d.drain())
			}
		case <-interrupted:
			interrupted, cause = nil, errInterrupted
			d.stop(endedInterrupted)
			limit.Reset(drainInterrupted)
			stopped = nil
		case <-limit.C:
			d.cut(cause)
		}
	}
}

// drain bounds the wait for what is in flight at the end of the sending.
func (d *driver) drain() time.Duration {
	if d.plan.Drain != nil {
		return d.plan.Drain.D()
	}
	return d.timeout + time.Second // requests end by their own timeout first
}

// end returns the stamps of the end of the sending and of the window, when the last request has ended.
func (d *driver) end(drained int64) (end, window int64) {
	switch d.ended {
	case endedDuration:
		end = d.start + int64(d.plan.Duration)
		return end, end
	case endedRequests, endedExhausted:
		end = d.lastSend.Load() + 1
		if d.plan.Shape == runplan.ShapeOpen {
			end = max(end, d.start+int64(float64(d.live.planned())/d.rate*1e9))
			return end, end
		}
		return end, max(end, drained)
	}
	return d.endedAt, d.endedAt
}
