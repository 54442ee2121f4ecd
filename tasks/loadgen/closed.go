package loadgen

import (
	"sync"
	"time"

	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/loadgen/schedule"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/runplan"
)

// uncapped is how many requests a throughput stage without a cap or a request bound keeps in flight.
const uncapped = 512

// slots returns the number of requests that a closed loop keeps in flight.
func (d *driver) slots() int {
	switch {
	case d.plan.Shape == runplan.ShapeClosed:
		return max(1, d.plan.Concurrency)
	case d.plan.MaxInflight > 0:
		return d.plan.MaxInflight
	case d.plan.Requests > 0:
		return d.plan.Requests
	}
	return uncapped
}

// runClosed keeps n slots busy, each with one conversation at a time.
func (d *driver) runClosed(n int) {
	var slots sync.WaitGroup
	for j := range n {
		slots.Go(func() {
			s := slot{driver: d, number: int64(j), free: d.start + int64(schedule.SlotStart(d.plan.Ramp.D(), j, n))}
			s.run()
		})
	}
	slots.Wait()
}

// slot sends its next request when the one before has ended.
type slot struct {
	*driver
	number   int64
	free     int64 // stamp from which the slot may send
	failures int   // in a row, to connect
}

func (s *slot) run() {
	if !s.wait(s.free) {
		return
	}
	for s.conversation() {
	}
}

// conversation holds one conversation; false when the slot is done.
func (s *slot) conversation() bool {
	c := s.session()
	if c == nil {
		return false
	}
	p := c.Next(nil, nil)
	for {
		if !s.claim() && !s.keepsLoad() {
			return false
		}
		o := s.put(job{session: c, prompt: p, intended: s.free, slot: s.number}, !p.Last)
		s.free = s.after(o)
		more := !p.Last && o.Status == report.StatusOK
		if more {
			p = c.Next(nil, o.Text)
			s.free += int64(s.think)
		}
		s.backOff(o)
		s.recycle(o)
		if !s.wait(s.free) && !s.keepsLoad() {
			return false
		}
		if !more {
			return true
		}
	}
}

// keepsLoad says whether the slot goes on sending although the stage has ended, so that the requests still measured
// see the load they began under. Only a duration ends a stage that way: bounds on requests are exact.
func (s *slot) keepsLoad() bool {
	return s.ended == endedDuration && s.drain() > 0 && s.ctx.Err() == nil && s.early.Load() > 0
}

// backOff makes a slot that cannot connect wait, so that a dead server does not fill the disk with rows.
func (s *slot) backOff(o *record.Outcome) {
	if o.Class != report.ErrDial {
		s.failures = 0
		return
	}
	s.free += int64(min(time.Second, 10*time.Millisecond<<min(s.failures, 10)))
	s.failures++
}
