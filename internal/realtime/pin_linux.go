package realtime

import (
	"os"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// slice is the time slice that the thread asks of the scheduler: the shorter it is, the sooner a thread that wakes gets
// its turn, at the price of giving it up as soon. Kernels before 6.12 ignore it.
const slice = 100_000 // ns, the least that a kernel takes

// behind is by how much the other threads of the process are nicer than before. Garbage collection and the writing of
// files share a processor with the pinned thread where there is but one, and would keep it for a slice of 3 ms each
// time.
const behind = 10

// start is how nice the process was before any thread of it stood behind another.
//
//nolint:gochecknoglobals // what was at the start cannot be asked for later
var start = sync.OnceValue(func() int {
	main, err := unix.SchedGetAttr(os.Getpid(), 0)
	if err != nil {
		return 0
	}
	return int(main.Nice)
})

// Pin gives the calling goroutine a thread of its own, whose sleeps end when they are due and not up to 50 us later,
// and lets the other threads of the process stand behind it. It returns what undoes the former; threads stay nice. What
// the system refuses is left out: the thread is a little later then, which its owner measures.
func Pin() (undo func()) {
	runtime.LockOSThread()
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	before, known := unix.SchedGetAttr(0, 0)
	if known == nil && before.Policy == unix.SCHED_NORMAL {
		prompt := *before
		prompt.Runtime, prompt.Nice = slice, int32(start())
		if unix.SchedSetAttr(0, &prompt, 0) != nil { // it has stood behind: only the privileged may change that
			prompt.Nice = before.Nice
			_ = unix.SchedSetAttr(0, &prompt, 0)
		}
		yield(unix.Gettid(), min(start()+behind, 19))
	}
	return func() {
		if err == nil {
			_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
		}
		if known == nil {
			_ = unix.SchedSetAttr(0, before, 0)
		}
		runtime.UnlockOSThread()
	}
}

// yield makes the threads of the process so nice, but for one and those that are pinned too. A thread that is that nice
// already stays as it is, so that it does not matter how often somebody pins.
func yield(except, nice int) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil || id == except {
			continue
		}
		if attr, err := unix.SchedGetAttr(id, 0); err == nil && (attr.Runtime == slice || int(attr.Nice) >= nice) {
			continue
		}
		_ = unix.Setpriority(unix.PRIO_PROCESS, id, nice)
	}
}
