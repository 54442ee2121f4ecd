package loadgen

import (
	"time"

	"bflow.dev/bflow/load/schedule"
	"bflow.dev/bflow/report"
)

// closedShape keeps slots busy: each sends its next request when the one before has ended.
type closedShape struct {
	*driver
	n          int
	ready      queue[*flight] // first turns, made
	readyBytes int
	// perRequest: a slot is held by a request, so that it serves others while a conversation thinks.
	perRequest bool
	started    int            // number of the slot that begins next
	startsAt   int64          // when slot number started begins
	busy       int            // slots with a request in flight
	thinking   int            // slots or, perRequest, conversations that wait for their time
	rest       []*slot        // perRequest: without a conversation
	turnsDue   queue[*flight] // perRequest: turns whose time has come
}

// slot is one of the clients that a closed loop stands for.
type slot struct {
	number   int64
	failures int // in a row, to connect
}

var _ shaper = (*closedShape)(nil)

func (c *closedShape) begin() {
	c.started = c.shard
	c.startsAt = c.slotStart()
}

// slotStart returns when the next slot begins: the slots of a shard keep the times that they have among all.
func (c *closedShape) slotStart() int64 {
	return c.start + int64(schedule.SlotStart(c.plan.Ramp.D(), c.started, c.n))
}

func (c *closedShape) prepare() bool {
	if c.shard >= c.n || c.isStopped() || c.exhausted || c.ready.len() >= c.n || c.ready.len() >= ahead &&
		c.readyBytes > aheadBytes {
		return false
	}
	f := c.openNext()
	if f != nil {
		c.ready.push(f)
		c.readyBytes += len(f.Message)
	}
	return f != nil
}

// due starts the slots whose time has come.
func (c *closedShape) due(now int64) {
	for i := 0; i < burst && c.started < c.n && c.startsAt <= now && !c.isStopped(); i++ {
		s := &slot{number: int64(c.started)}
		free := c.startsAt
		c.started += c.shards
		c.startsAt = c.slotStart()
		c.begins(s, free)
	}
}

func (c *closedShape) next() (int64, bool) {
	return c.startsAt, c.started < c.n && !c.isStopped()
}

// begins gives a free slot its next conversation. A slot that finds none is done.
func (c *closedShape) begins(s *slot, free int64) {
	if c.turnsDue.len() > 0 && !c.isStopped() {
		f := c.turnsDue.pop()
		f.waited = max(0, free-f.intended)
		c.puts(s, f)
		return
	}
	if c.isStopped() && !c.keepsLoad() {
		return
	}
	f := c.ready.head()
	if f != nil {
		c.ready.pop()
		c.readyBytes -= len(f.Message)
	} else if f = c.openNext(); f == nil {
		if c.perRequest {
			c.rest = append(c.rest, s)
		}
		return
	}
	f.intended = free
	c.puts(s, f)
}

// puts sends a request of a slot if it still may.
func (c *closedShape) puts(s *slot, f *flight) {
	if !c.claim() && !c.keepsLoad() {
		c.recycle(f)
		return
	}
	f.slot = s
	c.busy++
	c.send(f)
}

// keepsLoad says whether slots go on sending although the stage has ended, so that the requests still measured see the
// load they began under. Only a duration ends a stage that way: bounds on requests are exact.
func (c *closedShape) keepsLoad() bool {
	return c.state.by == endedDuration && c.drain() > 0 && !c.state.cut && c.early > 0
}

func (c *closedShape) complete(f *flight) {
	c.busy--
	s := f.slot
	pause := s.backOff(f.outcome.Class)
	free := c.after(f) + pause
	if f.prompt.Last || f.outcome.Status != report.StatusOK {
		if pause == 0 {
			c.begins(s, free)
		} else {
			c.later(free, func() { c.begins(s, free) })
		}
		return
	}
	if c.isStopped() && !c.keepsLoad() {
		return
	}
	n := c.nextTurn(f)
	n.intended = c.after(f) + c.think
	if !c.perRequest {
		c.later(n.intended, func() { c.puts(s, n) })
		return
	}
	c.later(n.intended, func() { c.turnDue(n) })
	c.begins(s, free)
}

// turnDue sends a turn whose time has come on a slot that has nothing to do, else it waits for one.
func (c *closedShape) turnDue(f *flight) {
	last := len(c.rest) - 1
	if last < 0 {
		c.turnsDue.push(f)
		return
	}
	s := c.rest[last]
	c.rest = c.rest[:last]
	c.puts(s, f)
}

// later calls f when its time has come: at once where it has.
func (c *closedShape) later(at int64, f func()) {
	if at <= c.now() {
		f()
		return
	}
	c.thinking++
	c.timers.at(at, func() { c.thinking--; f() })
}

func (c *closedShape) drop() {}

func (c *closedShape) idle() bool {
	if c.busy > 0 {
		return false
	}
	return c.isStopped() || c.started >= c.n && c.thinking == 0 && c.turnsDue.len() == 0
}

// backOff returns how long a slot that cannot connect waits, so that a dead server does not fill the disk with rows.
func (s *slot) backOff(class string) int64 {
	if class != report.ErrDial && class != report.ErrTLS {
		s.failures = 0
		return 0
	}
	s.failures++
	return int64(min(time.Second, 10*time.Millisecond<<min(s.failures-1, 10)))
}
