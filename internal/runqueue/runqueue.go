// Package runqueue reads from the kernel how long the threads of this process were runnable but waiting for a CPU. It
// must not know its callers or judge what is too long.
package runqueue

import (
	"fmt"
	"os"
	"time"
)

// Turns are what the kernel says of a thread: how long it was ready and did not run, over how many time slices.
type Turns struct {
	Waiting time.Duration
	Slices  int64
}

// WakeUp is what it costs to put a woken thread on an idle processor of a virtual machine (10 to 30 µs were seen
// without any other load). The kernel counts it as waiting, once per time slice, and a client of many small events
// wakes often.
const WakeUp = 25 * time.Microsecond

// tasks is where Linux has a folder per thread of this process; /proc/self/schedstat would tell of the first one alone.
const tasks = "/proc/self/task"

// Threads returns the turns of every thread of this process by its number; none where the kernel does not tell.
func Threads() map[string]Turns {
	out := map[string]Turns{}
	entries, err := os.ReadDir(tasks)
	if err != nil {
		return out
	}
	for _, e := range entries {
		if t, ok := Thread(e.Name()); ok { // else it has ended
			out[e.Name()] = t
		}
	}
	return out
}

// Thread returns the turns of one thread of this process; false where the kernel does not tell.
func Thread(number string) (Turns, bool) {
	text, err := os.ReadFile(tasks + "/" + number + "/schedstat")
	if err != nil {
		return Turns{}, false
	}
	var running, waiting, slices int64
	if n, _ := fmt.Sscan(string(text), &running, &waiting, &slices); n < 3 {
		return Turns{}, false
	}
	return Turns{time.Duration(waiting), slices}, true
}

// Waited returns how long threads have waited for a processor that somebody else had: their waiting between two
// readings less what waking up costs, thread by thread, so that one that wakes cheaply hides no other. It returns the
// sum and the longest.
func Waited(before, after map[string]Turns) (total, longest time.Duration) {
	for thread, now := range after {
		was := before[thread]
		one := max(0, now.Waiting-was.Waiting-time.Duration(now.Slices-was.Slices)*WakeUp)
		total, longest = total+one, max(longest, one)
	}
	return total, longest
}
