package rig

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Anywhere is the core of a process that is not pinned.
const Anywhere = -1

// Cores says where the two processes of a measurement run.
type Cores struct {
	Client, Server int
	Shared         bool // there is only one core, or both are threads of one: figures are of little worth
}

// PickCores chooses two of the cores that this process may use, of different physical cores where there are such.
func PickCores() (Cores, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return Cores{}, fmt.Errorf("reading the cores of this process: %w", err)
	}
	var allowed []int
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			allowed = append(allowed, cpu)
		}
	}
	return pick(allowed, siblings), nil
}

// pick takes the first core for the server and the last that is no sibling of it for the client.
func pick(allowed []int, siblings func(int) []int) Cores {
	server := allowed[0]
	for _, cpu := range slices.Backward(allowed) {
		if cpu != server && !slices.Contains(siblings(server), cpu) {
			return Cores{Client: cpu, Server: server}
		}
	}
	return Cores{Client: allowed[len(allowed)-1], Server: server, Shared: true}
}

// siblings returns the hardware threads of the physical core of cpu; none where the kernel does not say.
func siblings(cpu int) []int {
	text, err := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu))
	if err != nil {
		return nil
	}
	return parseList(strings.TrimSpace(string(text)))
}

// parseList reads a list of the kernel such as "0,4-6".
func parseList(text string) []int {
	var out []int
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, errFrom := strconv.Atoi(low)
		to, errTo := strconv.Atoi(high)
		if errFrom != nil || errTo != nil {
			continue
		}
		for cpu := from; cpu <= to; cpu++ {
			out = append(out, cpu)
		}
	}
	return out
}

// startPinned calls start on a thread that may only run on core, which a process started by it inherits before its
// exec.
func startPinned(core int, start func() error) error {
	if core == Anywhere {
		return start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var old, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &old); err != nil {
		return fmt.Errorf("reading the cores of a thread: %w", err)
	}
	only.Set(core)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return fmt.Errorf("pinning to core %d: %w", core, err)
	}
	defer func() { _ = unix.SchedSetaffinity(0, &old) }() // it was allowed before
	return start()
}

// Now returns CLOCK_MONOTONIC in nanoseconds, the clock of the truth log and of every process of the host.
func Now() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return t.Nano()
}

// pause waits between two looks at the system.
func pause(d time.Duration) { time.Sleep(d) }
