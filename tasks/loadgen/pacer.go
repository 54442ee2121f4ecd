package loadgen

import (
	"syscall"
	"time"
)

// spin is how long before a deadline the pacer stops sleeping: the kernel wakes a sleeper some 80 to 150 µs late.
const spin = 150 * time.Microsecond

// nap bounds one sleep of the pacer, so that it sees within this time that the stage has ended.
const nap = 20 * time.Millisecond

// sleepUntil returns true at deadline, to the microsecond, or false when stopped says so before. It sleeps in the
// kernel and not in the runtime, whose timers are up to a millisecond late: the caller should own its thread.
func sleepUntil(anchor time.Time, deadline time.Duration, stopped func() bool) bool {
	for {
		if stopped() {
			return false
		}
		left := deadline - time.Since(anchor)
		switch {
		case left <= 0:
			return true
		case left <= spin:
			for time.Since(anchor) < deadline {
			}
			return true
		}
		ts := syscall.NsecToTimespec(int64(min(left-spin, nap)))
		_ = syscall.Nanosleep(&ts, nil) // woken early by a signal it is called again
	}
}
