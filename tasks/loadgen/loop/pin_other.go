//go:build !linux

package loop

import "runtime"

// Pin gives the calling goroutine a thread of its own; it returns what undoes it.
func Pin() (undo func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
