package export

import "runtime/debug"

// garbage is how much garbage of an export or import may lie beside what it needs, in percent of that: with the usual
// setting it would be as much again as the numbers of all requests. A limit of memory would be no better: with what is
// needed close to it, the collector would run without end.
const garbage = 10

// CollectEarly makes the garbage collector run before garbage piles up; it returns what undoes it. It is for processes
// that do nothing else meanwhile.
func CollectEarly() (restore func()) {
	before := debug.SetGCPercent(garbage)
	return func() { debug.SetGCPercent(before) }
}
