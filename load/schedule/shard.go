package schedule

import (
	"fmt"
	"time"
)

// Shard returns part k of n of a schedule, 0 <= k < n: the sends whose index is k modulo n, with the times and indices
// of the whole. The parts together are exactly the whole, for every n. Each computes the whole and keeps its part: a
// send costs some 20 ns, and a random process has no shorter way to its i-th event.
//
// A closed loop is divided the same way: shard k holds the slots j with j modulo n = k, each with its SlotStart among
// all slots.
func Shard(s Schedule, k, n int) (Schedule, error) {
	if n < 1 || k < 0 || k >= n {
		return nil, fmt.Errorf("taking shard %d of %d: it is not one of 0 to %d", k, n, n-1)
	}
	if n == 1 {
		return s, nil
	}
	return &shard{whole: s, k: int64(k), n: int64(n)}, nil
}

type shard struct {
	whole Schedule
	k, n  int64
}

func (s *shard) Next() (Send, bool) {
	for {
		x, ok := s.whole.Next()
		if !ok || x.Index%s.n == s.k {
			return x, ok
		}
	}
}

// SlotStart returns when slot j of n closed-loop slots starts: evenly over the ramp, exact to the nanosecond.
func SlotStart(ramp time.Duration, j, n int) time.Duration {
	slots, slot := time.Duration(n), time.Duration(j)
	return ramp/slots*slot + ramp%slots*slot/slots
}
