package loadgen

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"bflow.dev/bflow/tasks/loadgen/client"
	"bflow.dev/bflow/tasks/loadgen/prompt"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/runplan"
)

// driver puts the load of one stage: it decides who sends when, and hands outcomes to the spill.
type driver struct {
	plan     runplan.Stage
	rate     float64
	timeout  time.Duration
	think    time.Duration
	client   client.Client
	source   *prompt.Source
	content  prompt.Stage
	spill    *record.Spill
	live     *live
	idPrefix string
	anchor   time.Time
	alarms   *alarms
	seed     uint64

	start    int64 // stamp
	ctx      context.Context
	cut      context.CancelCauseFunc // ends ctx: what is in flight is cut off
	stopOnce sync.Once
	stopped  chan struct{}
	ended    string // reason; read after stopped is closed
	endedAt  int64

	issued    atomic.Int64 // requests that may be sent
	sessions  atomic.Int64
	early     atomic.Int64 // requests in flight that were sent before the end
	lastSend  atomic.Int64
	exhausted atomic.Bool // the plan has no more conversations
	outcomes  sync.Pool
}

func (d *driver) now() int64 { return int64(time.Since(d.anchor)) }

// stop ends the sending; the first reason counts.
func (d *driver) stop(reason string) {
	d.stopOnce.Do(func() {
		d.ended, d.endedAt = reason, d.now()
		close(d.stopped)
	})
}

func (d *driver) isStopped() bool {
	select {
	case <-d.stopped:
		return true
	default:
		return false
	}
}

// wait waits until a stamp; false when the sending ended before.
func (d *driver) wait(until int64) bool {
	if until <= d.now() {
		return !d.isStopped()
	}
	select {
	case <-d.alarms.at(until):
		return true
	case <-d.stopped:
		return false
	}
}

// claim says whether one more request may be sent.
func (d *driver) claim() bool {
	if d.isStopped() {
		return false
	}
	if n := d.issued.Add(1); d.plan.Requests > 0 && n > int64(d.plan.Requests) {
		d.stop(endedRequests)
		return false
	}
	return true
}

// session returns the next conversation; nil when the plan has no more.
func (d *driver) session() *prompt.Session {
	s, ok := d.source.Session(d.content, d.sessions.Add(1)-1)
	if !ok {
		d.exhausted.Store(true)
		return nil
	}
	return s
}

// finishedBy is why a stage ended that nothing stopped.
func (d *driver) finishedBy() string {
	if d.exhausted.Load() {
		return endedExhausted
	}
	return endedRequests
}

// job is one request with the time at which it should be sent.
type job struct {
	session  *prompt.Session
	prompt   prompt.Prompt
	intended int64
	slot     int64
	waited   int64 // in the queue for a place in flight
}

// put sends a request, waits for its end and spills its outcome. The outcome goes back to the pool with recycle.
func (d *driver) put(j job, keepText bool) *record.Outcome {
	o := d.begin(j)
	early := !d.isStopped()
	if early {
		d.early.Add(1)
	}
	d.live.begin()
	id := string(o.AppendID(nil, d.idPrefix))
	d.client.Do(d.ctx, &client.Request{ID: id, Body: j.prompt.Body, KeepText: keepText}, o)
	if early {
		d.early.Add(-1)
	}
	d.sentAt(o.Send)
	d.live.end(o)
	d.spill.Add(o)
	return o
}

func (d *driver) sentAt(at int64) {
	for {
		last := d.lastSend.Load()
		if at <= last || d.lastSend.CompareAndSwap(last, at) {
			return
		}
	}
}

// begin returns the outcome of a job that is about to be sent or given up.
func (d *driver) begin(j job) *record.Outcome {
	o, _ := d.outcomes.Get().(*record.Outcome)
	if o == nil {
		o = new(record.Outcome)
	}
	o.Reset()
	o.Index, o.Session, o.Turn, o.Slot = j.session.Index, j.session.Index, int64(j.prompt.Turn), j.slot
	o.Intended, o.QueueWait = j.intended, j.waited
	o.InAsked, o.OutAsked = j.prompt.InAsked, j.prompt.OutAsked
	o.PrefixBucket, o.PrefixIndex, o.PromptHash = j.prompt.Bucket, j.prompt.Prefix, j.prompt.Hash
	return o
}

// giveUp records a job that is never sent.
func (d *driver) giveUp(j job, status string) {
	o := d.begin(j)
	o.Status = status
	d.live.dropped(status)
	d.spill.Add(o)
	d.recycle(o)
}

func (d *driver) recycle(o *record.Outcome) { d.outcomes.Put(o) }

// after returns when a slot or conversation goes on after a request.
func (d *driver) after(o *record.Outcome) int64 {
	if o.End >= 0 {
		return o.End
	}
	return d.now()
}

// cutStatus is the status of a request that the end of the stage keeps from being sent.
func (d *driver) cutStatus() string {
	if errors.Is(context.Cause(d.ctx), client.ErrCut) {
		return report.StatusCut
	}
	return report.StatusCancelled
}
