package export

import "runtime/debug"

// heap is what the garbage of an export may fill beside what it needs: with the usual setting it would be as much again
// as the numbers of all requests.
const heap = 128 << 20

// CollectEarly makes the garbage collector run before garbage piles up; it returns what undoes it. It is for processes
// that do nothing else meanwhile.
func CollectEarly() (restore func()) {
	before := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(before, heap))
	return func() { debug.SetMemoryLimit(before) }
}
