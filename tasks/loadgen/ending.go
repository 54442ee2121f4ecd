package loadgen

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/tasks/loadgen/client"
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

// ending is how far a stage is from its end.
type ending struct {
	by    string // why the sending ended, "" while it goes on
	at    int64
	limit int64 // when what is in flight is given up
	cause error // with which
	cut   bool  // it was
	// halted: nothing is sent any more, not even for requests that were due before the end.
	halted bool
}

func (d *driver) isStopped() bool { return d.state.by != "" }

// stop ends the sending of what was not due yet; the first reason counts.
func (d *driver) stop(reason string) {
	if d.isStopped() {
		return
	}
	d.state.by, d.state.at = reason, d.now()
	switch reason {
	case endedRequests, endedExhausted:
	case endedDuration:
		d.state.limit = d.state.at + int64(d.drain())
	case endedFailed: // what comes now cannot be written
		d.state.limit = d.state.at
		d.halt()
	default:
		d.state.limit = d.state.at + int64(d.drain())
		d.halt()
	}
}

// halt ends all sending, also of what was due and waits for a place in flight or to be put again.
func (d *driver) halt() {
	d.state.halted = true
	d.shape.drop()
	for i := len(d.active) - 1; i >= 0; i-- {
		if i < len(d.active) && !d.active[i].Running() {
			d.over(d.active[i]) // with the failure that it had
		}
	}
}

// fail ends the sending because results cannot be written. It may be called from any goroutine.
func (d *driver) fail() { d.loop.Post(func() { d.stop(endedFailed) }) }

// watch ends the sending on a signal, which ends ctx, and when outcomes cannot be written any more; until over.
func (d *driver) watch(ctx context.Context, over <-chan struct{}) {
	signal, failed := ctx.Done(), d.spill.Failed()
	for {
		select {
		case <-signal:
			signal = nil
			d.loop.Post(d.interrupt)
		case <-failed:
			failed = nil
			d.fail()
		case <-over:
			return
		}
	}
}

// drainInterrupted bounds the wait for requests in flight after a signal.
const drainInterrupted = 5 * time.Second

// interrupt ends the stage on a signal.
func (d *driver) interrupt() {
	d.state.cause = client.ErrCanceled
	d.stop(endedInterrupted)
	d.state.limit = min(d.state.limit, d.now()+int64(drainInterrupted))
	if !d.state.halted {
		d.halt()
	}
}

// run puts the load and returns when the last request has ended.
func (d *driver) run(parent context.Context) {
	var watching sync.WaitGroup
	defer watching.Wait()
	over := make(chan struct{})
	defer close(over)
	watching.Go(func() { d.watch(parent, over) })
	d.state.limit, d.state.cause = math.MaxInt64, client.ErrCut
	if d.plan.Duration > 0 {
		d.state.limit = d.start + int64(d.plan.Duration) + int64(d.drain())
	}
	d.shape.begin()
	for !d.isOver() {
		now := d.now()
		d.clock(now)
		d.timers.fire(now)
		d.shape.due(now)
		d.wait()
	}
	d.stop(d.finishedBy())
}

// isOver says whether the stage is over: nothing is in flight or will be, and its duration has passed.
func (d *driver) isOver() bool {
	if len(d.active) > 0 || !d.shape.idle() {
		return false
	}
	return d.isStopped() || d.exhausted || d.plan.Duration <= 0 || d.plan.Requests > 0 && d.issued >= d.bound()
}

// finishedBy is why a stage ended that nothing stopped.
func (d *driver) finishedBy() string {
	if d.exhausted {
		return endedExhausted
	}
	return endedRequests
}

// clock ends what time ends. A client that wakes up after the end still sends what was due before it: a request that is
// left out for our own lateness would be missing where it would have shown. That is one burst at most, so that a client
// which cannot keep up ends in time all the same.
func (d *driver) clock(now int64) {
	if end := d.start + int64(d.plan.Duration); d.plan.Duration > 0 && now >= end && !d.isStopped() {
		d.timers.fire(end - 1)
		d.shape.due(end - 1)
		d.stop(endedDuration)
	}
	if now >= d.state.limit && !d.state.cut {
		d.cut(now)
	}
	if now >= d.sweep {
		d.overdue(now)
		d.sweep = now + d.limits.every()
	}
}

// cut gives up whatever is not over.
func (d *driver) cut(now int64) {
	d.state.cut, d.state.halted = true, true
	d.shape.drop()
	for len(d.active) > 0 {
		if f := d.active[0]; f.Running() {
			f.GiveUp(d.state.cause, now)
		} else { // it waits to be put again, and keeps the failure that it had
			d.over(f)
		}
	}
}

// spare is the least time before the next send in which a request is made ahead, and the longest for which answers are
// not looked at meanwhile.
const spare = int64(200 * time.Microsecond)

// wait makes requests ahead while there is time, then waits for what happens next.
func (d *driver) wait() {
	at, precise := d.nextSend()
	until := min(at, d.sweep)
	if d.plan.Duration > 0 && !d.isStopped() {
		until = min(until, d.start+int64(d.plan.Duration))
	}
	if !d.state.cut {
		until = min(until, d.state.limit)
	}
	precise = precise && until == at
	for from := d.now(); from+spare < until && d.shape.prepare(); {
		now := d.now()
		if now+spare >= until {
			break
		}
		if now-from >= spare {
			until, precise = now, false
		}
	}
	d.loop.Wait(until, precise)
}

// nextSend returns when something is sent next, as far as is known.
func (d *driver) nextSend() (at int64, ok bool) {
	at = math.MaxInt64
	if t, there := d.shape.next(); there {
		at, ok = t, true
	}
	if t, there := d.timers.next(); there && t < at {
		at, ok = t, true
	}
	return at, ok
}

// drain bounds the wait for what is in flight at the end of the sending.
func (d *driver) drain() time.Duration {
	if d.plan.Drain != nil {
		return d.plan.Drain.D()
	}
	return d.limits.total + time.Second // requests end by their own timeout first
}

// cutStatus is the status of a request that the end of the stage keeps from being sent.
func (d *driver) cutStatus() string {
	if errors.Is(d.state.cause, client.ErrCut) {
		return report.StatusCut
	}
	return report.StatusCancelled
}

// span returns the stamps of the end of the sending and of the window, when the last request has ended.
func (d *driver) span(drained int64) (end, window int64) {
	switch d.state.by {
	case endedDuration:
		end = d.start + int64(d.plan.Duration)
		return end, end
	case endedRequests, endedExhausted:
		end = d.lastSend + 1
		if d.kind.Paced && d.shards == 1 {
			end = max(end, d.start+int64(float64(d.live.planned())/d.rate*1e9))
			return end, end
		}
		return end, max(end, drained)
	}
	return d.state.at, d.state.at
}
