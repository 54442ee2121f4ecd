package loadgen

import (
	"container/heap"
	"math"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/tasks/loadgen/client"
	"bflow.dev/bflow/tasks/loadgen/record"
)

// timers call functions when their time has come, the earliest first.
type timers []timer

type timer struct {
	at int64
	f  func()
}

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].at < t[j].at }
func (t timers) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }

// Push and Pop are container/heap's.
func (t *timers) Push(x any) { *t = append(*t, x.(timer)) }
func (t *timers) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	(*t)[last] = timer{}
	*t = (*t)[:last]
	return x
}

func (t *timers) at(at int64, f func()) { heap.Push(t, timer{at, f}) }

func (t timers) next() (int64, bool) {
	if len(t) == 0 {
		return 0, false
	}
	return t[0].at, true
}

func (t *timers) fire(now int64) {
	for len(*t) > 0 && (*t)[0].at <= now {
		heap.Pop(t).(timer).f()
	}
}

// limits are the timeouts of a request; 0 = none.
type limits struct {
	total   time.Duration // from the send to the end
	silence time.Duration // between two arrivals, or before the first
}

// every returns how often timeouts are looked for: one that is a hundredth late is early enough.
func (l limits) every() int64 {
	shortest := l.total
	if l.silence > 0 {
		shortest = min(shortest, l.silence)
	}
	return int64(min(max(shortest/100, 2*time.Millisecond), 250*time.Millisecond))
}

// overdue ends the requests whose time is up. A request that was silent for the last half of it counts as stalled: the
// server has gone silent, it was not slow.
func (d *driver) overdue(now int64) {
	for i := len(d.active) - 1; i >= 0; i-- {
		if i >= len(d.active) { // ending one has ended others
			continue
		}
		f := d.active[i]
		o := &f.outcome
		if o.Send < 0 || !f.Running() {
			continue
		}
		silent := f.Silent(now)
		switch {
		case d.limits.silence > 0 && o.Sent >= 0 && silent >= int64(d.limits.silence): // before, the server reads
			f.GiveUp(client.ErrStall, now)
		case now-o.Send < int64(d.limits.total):
		case silent >= int64(d.limits.total)/2:
			f.GiveUp(client.ErrStall, now)
		default:
			f.GiveUp(client.ErrDeadline, now)
		}
	}
}

// planCancel draws whether the client of a request goes away before its end.
func (d *driver) planCancel(f *flight) {
	c := d.api.Cancel
	if c == nil || f.attempts > 0 || !drawn(d.seed, f.outcome.Session, f.outcome.Turn, c.Share) {
		return
	}
	session, turn := f.outcome.Session, f.outcome.Turn
	d.timers.at(d.now()+int64(c.After), func() {
		if f.Running() && f.outcome.Session == session && f.outcome.Turn == turn { // and no other one by now
			f.GiveUp(client.ErrCanceled, d.now())
		}
	})
}

// drawn says whether a request belongs to a share: a function of seed, session and turn alone.
func drawn(seed uint64, session, turn int64, share float64) bool {
	x := seed ^ uint64(session)*0x9e3779b97f4a7c15 ^ uint64(turn)<<56
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	return float64(x>>11)/(1<<53) < share
}

// again puts a request that failed once more, where the plan says so; its place in flight stays taken.
func (d *driver) again(f *flight) bool {
	r := d.api.Retry
	if r == nil || f.attempts >= r.Attempts || d.state.halted || !retryable(&f.outcome) {
		return false
	}
	shift := min(f.attempts, 20)
	wait := min(int64(r.Backoff), math.MaxInt64>>(shift+1)) << shift // half of what a stamp holds is never over
	f.attempts++
	d.tickets++
	ticket := d.tickets
	f.ticket = ticket
	d.timers.at(d.now()+wait, func() {
		if f.ticket == ticket {
			f.renew(d.now())
			d.line.Put(&f.Exchange)
		}
	})
	return true
}

// renew forgets what the attempts before came to. Their time counts as waiting, because it is no lateness of ours.
func (f *flight) renew(now int64) {
	o, was := &f.outcome, f.outcome
	if f.attempts == 1 && was.Send >= 0 {
		f.late = was.Send - was.Intended - was.QueueWait - was.Dial
	}
	o.Reset()
	o.Index, o.Session, o.Turn = was.Index, was.Session, was.Turn
	o.Slot, o.Intended, o.QueueWait = was.Slot, was.Intended, now-was.Intended-f.late
	o.InAsked, o.OutAsked = was.InAsked, was.OutAsked
	o.Adapter, o.PromptHash = was.Adapter, was.PromptHash
	o.PrefixBucket, o.PrefixIndex = was.PrefixBucket, was.PrefixIndex
	o.Retries, o.StaleRetries = was.Retries+1, was.StaleRetries
	f.ticket = 0
}

// retryable says whether another attempt may help: the server was not reached, broke off before its answer, or said so.
func retryable(o *record.Outcome) bool {
	switch o.Class {
	case report.ErrDial, report.ErrHTTP429, report.ErrHTTP5xx:
		return true
	case report.ErrReset:
		return o.FirstByte == record.Absent
	}
	return false
}
