package rig

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bflow.dev/bflow/internal/runqueue"
)

// MaxBusy is the share of a core's time that others may take before and during a measurement: above it the machine
// is not quiet and figures are disturbed.
const MaxBusy = 0.05

// probeFor is how long the probe of a core runs.
const probeFor = 200 * time.Millisecond

// RunDelay returns the share of the time that a busy thread waited for the core, on the worse of the two cores.
func RunDelay(c Cores) float64 {
	cores := []int{c.Client, c.Server}
	if c.Client == c.Server {
		cores = cores[:1]
	}
	shares := make([]float64, len(cores))
	var wg sync.WaitGroup
	for i, core := range cores {
		wg.Go(func() { shares[i] = probe(core) })
	}
	wg.Wait()
	worst := 0.0
	for _, s := range shares {
		worst = max(worst, s)
	}
	return worst
}

// probe keeps a thread busy on core and returns the share of the time in which it was ready and did not run.
func probe(core int) (share float64) {
	err := startPinned(core, func() error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread := strconv.Itoa(unix.Gettid())
		before, begin := runQueueWait(thread), time.Now()
		for time.Since(begin) < probeFor {
		}
		share = float64(runQueueWait(thread)-before) / float64(time.Since(begin))
		return nil
	})
	if err != nil {
		return 1
	}
	return share
}

// runQueueWait is how long a thread has waited for a core; 0 where the kernel does not say.
func runQueueWait(thread string) time.Duration {
	turns, _ := runqueue.Thread(thread)
	return turns.Waiting
}

// AwaitQuiet waits until the cores are free, at most for limit, and returns whether they are.
func AwaitQuiet(ctx context.Context, c Cores, limit time.Duration) bool {
	for begin := time.Now(); ; {
		if RunDelay(c) <= MaxBusy {
			return true
		}
		if time.Since(begin) > limit || ctx.Err() != nil {
			return false
		}
		pause(time.Second)
	}
}

// Meter measures how much processor time others take of the two cores.
type Meter struct {
	cores Cores
	busy  time.Duration
	at    time.Time
}

// NewMeter starts to count.
func NewMeter(c Cores) Meter { return Meter{cores: c, busy: busyTime(c), at: time.Now()} }

// Others returns the share of the two cores that was used by none of ours, which used so much processor time. Stolen
// time counts as theirs.
func (m Meter) Others(ours time.Duration) float64 {
	cores := 2.0
	if m.cores.Client == m.cores.Server {
		cores = 1
	}
	wall := float64(time.Since(m.at)) * cores
	return max(0, float64(busyTime(m.cores)-m.busy-ours)/wall)
}

// tick is the unit of /proc/stat on every platform we know.
const tick = 10 * time.Millisecond

// busyTime reads how long the two cores have not been idle.
func busyTime(c Cores) time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	total := int64(0)
	for line := range strings.SplitSeq(string(text), "\n") {
		var name string
		var user, nice, system, idle, iowait, irq, softirq, steal int64
		if n, _ := fmt.Sscan(line, &name, &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal); n < 9 {
			continue
		}
		if name == fmt.Sprintf("cpu%d", c.Client) || name == fmt.Sprintf("cpu%d", c.Server) {
			total += user + nice + system + irq + softirq + steal
		}
	}
	return time.Duration(total) * tick
}
