package loadgen

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"bflow.dev/bflow/internal/runqueue"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/tasks/loadgen/client"
)

// self is what this process knows of itself, at one moment or between two.
type self struct {
	at        time.Time
	cpu       time.Duration
	threads   map[string]runqueue.Turns
	runQueue  time.Duration // waited for a processor since, all threads together
	longest   time.Duration // waited the thread that did so longest: the loop's is one
	gcPause   time.Duration // longest since
	conns     client.Stats
	peakRSS   int64
	drift     time.Duration // wall clock against monotonic clock
	limit     float64       // processors
	throttled float64       // share of the periods of the cgroup; -1 = unknown
	periods   [2]int64      // of the cgroup: all, throttled
	lastGC    int64
}

func readSelf(m *measurement) self {
	s := self{at: time.Now(), conns: m.line.Stats(), limit: cpuLimit()}
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		s.cpu = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		s.peakRSS = usage.Maxrss << 10
	}
	s.threads = runqueue.Threads()
	wall := time.Now()
	s.drift = time.Duration(wall.UnixNano()-m.anchor.UnixNano()) - wall.Sub(m.anchor)
	s.periods = cgroupPeriods()
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	s.lastGC = gc.NumGC
	return s
}

// since returns what happened between before and s.
func (s self) since(before self) self {
	d := s
	d.cpu -= before.cpu
	d.runQueue, d.longest = runqueue.Waited(before.threads, s.threads)
	d.drift = max(s.drift-before.drift, before.drift-s.drift)
	d.conns.Opened -= before.conns.Opened
	d.conns.Churn -= before.conns.Churn
	d.gcPause = longestPause(int(s.lastGC - before.lastGC))
	d.throttled = -1
	if all := s.periods[0] - before.periods[0]; all > 0 {
		d.throttled = float64(s.periods[1]-before.periods[1]) / float64(all)
	}
	d.at = before.at
	return d
}

// longestPause returns the longest pause of the last n collections.
func longestPause(n int) time.Duration {
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	longest := time.Duration(0)
	for i := range min(n, len(gc.Pause)) {
		longest = max(longest, gc.Pause[i])
	}
	return longest
}

func (s self) client() report.Client {
	return report.Client{CPUSeconds: s.cpu.Seconds(), RunQueueS: s.runQueue.Seconds(),
		MaxGCPauseMS: float64(s.gcPause) / 1e6,
		ConnsOpened:  s.conns.Opened, PeakRSSBytes: s.peakRSS, ClockDriftMS: float64(s.drift) / 1e6}
}

// cpuLimit returns the processors that this process may use.
func cpuLimit() float64 {
	limit := float64(runtime.NumCPU())
	text, err := os.ReadFile("/sys/fs/cgroup/cpu.max")
	var quota, period float64
	if err == nil {
		if n, _ := fmt.Sscan(string(text), &quota, &period); n == 2 && period > 0 {
			limit = min(limit, quota/period)
		}
	}
	return limit
}

// cgroupPeriods returns the periods of the processor quota so far, all and throttled.
func cgroupPeriods() (p [2]int64) {
	text, err := os.ReadFile("/sys/fs/cgroup/cpu.stat")
	if err != nil {
		return p
	}
	for _, line := range strings.Split(string(text), "\n") {
		var name string
		var n int64
		_, _ = fmt.Sscan(line, &name, &n)
		switch name {
		case "nr_periods":
			p[0] = n
		case "nr_throttled":
			p[1] = n
		}
	}
	return p
}
