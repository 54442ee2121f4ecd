package pace

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bflow.dev/bflow/internal/realtime"
	"bflow.dev/bflow/sim/engine"
)

// The thread stops sleeping some time before a deadline and spins until it: as long as its wake-ups have lately been
// late, within these bounds. A fixed time would waste a core when streams are many, or be late when the host is busy.
const (
	minSpin = 10 * time.Microsecond
	maxSpin = 100 * time.Microsecond
)

// Pacer drives a model by the clock. All calls of the model, and so all sends, happen on its one thread.
type Pacer struct {
	clock Clock
	model engine.Model
	lead  int64 // a request cannot have anything due earlier than this after it was submitted, ns
	alarm alarm

	mu      sync.Mutex
	orders  []func(now int64)
	pending atomic.Bool
	wakeAt  atomic.Int64 // when the thread wakes by itself; 0 = it is awake
	thaw    atomic.Int64 // end of the freeze, real time; 0 = none
	closed  atomic.Bool
	thread  atomic.Int64
	done    chan struct{}

	spin     int64 // current time of spinning, ns
	frozenAt int64 // model time while frozen
	offset   int64 // real time minus model time, after the current freeze
}

// Start runs model on a thread of its own until Close. lead is the least time between Submit and the first thing
// due; it only saves wake-ups, 0 is always right.
func Start(clock Clock, model engine.Model, lead time.Duration) (*Pacer, error) {
	a, err := newAlarm()
	if err != nil {
		return nil, err
	}
	p := &Pacer{clock: clock, model: model, lead: int64(lead), alarm: a, done: make(chan struct{}), spin: int64(maxSpin)}
	go p.run()
	return p, nil
}

// Submit adds s to the model as arrived at the monotonic time at.
func (p *Pacer) Submit(at int64, s *engine.Seq) {
	p.order(at+p.lead, func(now int64) { p.model.Add(p.modelTime(at), s) })
}

// Do calls f on the thread, with the model time.
func (p *Pacer) Do(f func(now int64)) { p.order(0, f) }

// Freeze stops the model for d: nothing is sent, and everything due later is due d later. A freeze in a freeze
// prolongs it.
func (p *Pacer) Freeze(d time.Duration) {
	p.Do(func(int64) {
		now := p.clock.Now()
		if end := p.thaw.Load(); end > now {
			p.thaw.Store(end + int64(d))
		} else {
			p.frozenAt = now - p.offset
			p.thaw.Store(now + int64(d))
		}
		p.offset += int64(d)
	})
}

// Thaw returns when the current freeze ends, in monotonic time; a time in the past means that there is none.
func (p *Pacer) Thaw() int64 { return p.thaw.Load() }

// Real returns the real time of the model time t: the one at which something due at t has to be sent. It may be
// called on the pacer's thread only.
func (p *Pacer) Real(t int64) int64 { return t + p.offset }

// Thread returns the kernel's id of the pacer's thread, 0 before it runs.
func (p *Pacer) Thread() int { return int(p.thread.Load()) }

// Close stops the thread; what is not due yet is never sent.
func (p *Pacer) Close() {
	p.closed.Store(true)
	p.alarm.ring()
	<-p.done
	p.alarm.close()
}

func (p *Pacer) order(due int64, f func(now int64)) {
	p.mu.Lock()
	p.orders = append(p.orders, f)
	p.mu.Unlock()
	p.pending.Store(true)
	if p.wakeAt.Load() > due-int64(maxSpin) {
		p.alarm.ring()
	}
}

func (p *Pacer) run() {
	realtime.Pin() // the thread ends with its goroutine
	p.thread.Store(int64(unix.Gettid()))
	defer close(p.done)
	for !p.closed.Load() {
		p.obey()
		due, ok := p.model.Next()
		if !ok {
			due = math.MaxInt64 - p.offset
		}
		if p.wait(due + p.offset) {
			p.model.Advance(p.modelTime(p.clock.Now()))
		}
	}
}

// modelTime returns the model time at the real time now: it stands still in a freeze.
func (p *Pacer) modelTime(now int64) int64 {
	if now < p.thaw.Load() {
		return p.frozenAt
	}
	return now - p.offset
}

func (p *Pacer) obey() {
	if !p.pending.Swap(false) {
		return
	}
	p.mu.Lock()
	orders := p.orders
	p.orders = nil
	p.mu.Unlock()
	now := p.modelTime(p.clock.Now())
	for _, f := range orders {
		f(now)
	}
}

// wait returns true at the real time due, or false earlier because there is an order.
func (p *Pacer) wait(due int64) bool {
	for {
		left := due - p.clock.Now()
		switch {
		case left <= 0:
			return true
		case p.pending.Load() || p.closed.Load():
			return false
		case left > p.spin:
			p.sleep(due)
		}
	}
}

// sleep sleeps until p.spin before due. wakeAt is set before the orders are looked at once more, so that an order
// either sees it and rings, or is seen.
func (p *Pacer) sleep(due int64) {
	p.wakeAt.Store(due)
	defer p.wakeAt.Store(0)
	if p.pending.Load() || p.closed.Load() {
		return
	}
	if due >= math.MaxInt64-p.offset {
		p.alarm.sleep(-1)
		return
	}
	until := due - p.spin
	p.alarm.sleep(max(0, until-p.clock.Now()))
	p.learn(p.clock.Now() - until)
}

// learn adapts the time of spinning to a wake-up that was late by ns; one by an order is early and teaches nothing.
// It grows at once and shrinks slowly, so that about one wake-up in fifty is later than it.
func (p *Pacer) learn(late int64) {
	switch {
	case late < 0 || late > int64(maxSpin): // the latter lost its processor, which no spinning prevents
	case late > p.spin:
		p.spin = min(int64(maxSpin), p.spin+p.spin/2)
	default:
		p.spin = max(int64(minSpin), p.spin-p.spin/128)
	}
}
