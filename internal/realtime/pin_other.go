//go:build !linux

package realtime

import "runtime"

// Pin gives the calling goroutine a thread of its own; it returns what undoes it.
func Pin() (undo func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
