package loadgen

import (
	"bflow.dev/bflow/load/schedule"
	"bflow.dev/bflow/report"
)

// ahead is how many requests are made before their time, so that making one never delays its sending.
const ahead = 64

// aheadBytes bounds the messages that slots which start together have ready, where they are more than ahead.
const aheadBytes = 4 << 20

// burst is how many requests that are due at once are sent before answers are looked at: what waits to be read keeps
// the kernel's stamp.
const burst = 1024

// openShape sends by the schedule, whatever the server does: up to a cap, above which a request waits in order or is
// dropped.
type openShape struct {
	*driver
	times   schedule.Schedule
	ready   queue[*flight] // made, in order of their time
	over    bool           // the schedule has no more
	waiting queue[waiter]  // for a place in flight
	cap     int            // 0 = none
	drops   bool
	taken   int // places in flight
	turns   int // later turns whose time has not come

	turnRule string // of a trace
}

var _ shaper = (*openShape)(nil)

// waiter is a request that waits for a place in flight. Where many wait, a first turn is made again when its place is
// free: what waits before a slow server would else fill the memory with prompts.
type waiter struct {
	*flight
	index, intended int64
}

func (g *openShape) begin() {}

func (g *openShape) prepare() bool {
	if g.over || g.isStopped() || g.ready.len() >= ahead {
		return false
	}
	return g.make() != nil
}

// make makes the next request of the schedule; nil when there is none.
func (g *openShape) make() *flight {
	if g.over {
		return nil
	}
	send, ok := g.times.Next()
	if !ok {
		g.over = true
		return nil
	}
	f := g.open(send.Index)
	if f == nil {
		g.over = true
		return nil
	}
	f.intended = g.start + send.At
	g.ready.push(f)
	return f
}

func (g *openShape) due(now int64) {
	for range burst {
		f := g.ready.head()
		if f == nil {
			f = g.make()
		}
		if f == nil || f.intended > now || !g.claim() {
			return
		}
		g.ready.pop()
		g.live.countDue()
		g.admit(f)
		now = g.now()
	}
}

func (g *openShape) next() (int64, bool) {
	if g.isStopped() {
		return 0, false
	}
	f := g.ready.head()
	if f == nil {
		f = g.make()
	}
	if f == nil {
		return 0, false
	}
	return f.intended, true
}

// admit sends a request whose time has come, if there is a place for it.
func (g *openShape) admit(f *flight) {
	switch full := g.cap > 0 && g.taken >= g.cap; {
	case !full:
		g.taken++
		g.send(f)
	case g.drops:
		g.giveUp(f, report.StatusDropped)
	default:
		g.wait(f)
	}
}

func (g *openShape) wait(f *flight) {
	w := waiter{f, f.outcome.Index, f.intended}
	if g.waiting.len() >= ahead && f.outcome.Turn == 0 {
		w.flight = nil
		g.recycle(f)
	}
	g.waiting.push(w)
}

// takeWaiting returns the request that has waited longest.
func (g *openShape) takeWaiting() *flight {
	w := g.waiting.pop()
	f := w.flight
	if f == nil {
		f = g.open(w.index)
		f.intended = w.intended
	}
	f.waited = g.now() - f.intended
	return f
}

func (g *openShape) complete(f *flight) {
	g.taken--
	if !f.prompt.Last && f.outcome.Status == report.StatusOK && !g.isStopped() {
		g.scheduleTurn(f)
	}
	if g.waiting.len() > 0 && !g.state.halted {
		w := g.takeWaiting()
		g.taken++
		g.send(w)
	}
}

// scheduleTurn arranges for the turn after f.
func (g *openShape) scheduleTurn(f *flight) {
	n := g.nextTurn(f)
	n.intended = g.turnTime(f, n)
	g.turns++
	g.timers.at(n.intended, func() {
		g.turns--
		if g.claim() {
			g.admit(n)
		} else {
			g.recycle(n)
		}
	})
}

// turnTime returns when the turn after f is meant to be sent: as was recorded, or when the conversation has thought.
func (g *openShape) turnTime(f, n *flight) int64 {
	if g.trace == nil {
		return g.after(f) + g.think
	}
	turns, play := g.trace.Session(n.outcome.Session)
	return turns[n.outcome.Turn].After(g.turnRule, g.start+play, g.after(f))
}

func (g *openShape) drop() {
	for g.waiting.len() > 0 {
		g.giveUp(g.takeWaiting(), g.cutStatus())
	}
}

func (g *openShape) idle() bool {
	if g.isStopped() {
		return g.waiting.len() == 0
	}
	return g.over && g.ready.len() == 0 && g.waiting.len() == 0 && g.turns == 0
}
