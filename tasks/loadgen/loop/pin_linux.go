package loop

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Pin gives the calling goroutine a thread of its own, whose sleeps end when they are due and not up to 50 us later; it
// returns what undoes it.
func Pin() (undo func()) {
	runtime.LockOSThread()
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // refused: sleeps are a little late, and the checks say how late
	return func() {
		if err == nil {
			_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
		}
		runtime.UnlockOSThread()
	}
}
