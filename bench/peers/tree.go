package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bflow.dev/bflow/bench/rig"
)

// cpuCurve is the processor time of a process and all its children over time.
type cpuCurve []cpuPoint

type cpuPoint struct {
	at  int64 // CLOCK_MONOTONIC, ns
	cpu time.Duration
}

// between is the processor time from one moment to another: what a tool needs to start and to write its report does not
// count. Between two points the curve is a line.
func (c cpuCurve) between(from, to int64) time.Duration { return c.until(to) - c.until(from) }

func (c cpuCurve) until(at int64) time.Duration {
	for i, p := range c {
		if p.at < at {
			continue
		}
		if i == 0 {
			return p.cpu
		}
		before := c[i-1]
		share := float64(at-before.at) / float64(p.at-before.at)
		return before.cpu + time.Duration(share*float64(p.cpu-before.cpu))
	}
	if len(c) == 0 {
		return 0
	}
	return c[len(c)-1].cpu
}

// lookEvery lies between two looks at a tree of processes.
const lookEvery = 40 * time.Millisecond

// watch follows a tree of processes.
type watch struct {
	stop, ended chan struct{}
	curve       cpuCurve
	memory      int64
	seen        map[int]bool
}

func startWatch(pid int) *watch {
	w := &watch{stop: make(chan struct{}), ended: make(chan struct{}), seen: map[int]bool{}}
	go func() {
		defer close(w.ended)
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			w.look(pid)
			select {
			case <-w.stop:
				return
			case <-tick.C:
			}
		}
	}()
	return w
}

// look adds a point. A child that has ended counts in its parent, once that has waited for it.
func (w *watch) look(pid int) {
	var cpu time.Duration
	var memory int64
	for _, p := range rig.Tree(pid) {
		w.seen[p] = true
		cpu += processorTime(p)
		if m, ok := rig.ReadMemory(p); ok {
			memory += m.Anon
		}
	}
	if n := len(w.curve); n > 0 && cpu < w.curve[n-1].cpu { // a child is between its end and its parent's wait
		cpu = w.curve[n-1].cpu
	}
	w.curve = append(w.curve, cpuPoint{rig.Now(), cpu})
	w.memory = max(w.memory, memory)
}

// end stops looking and ends what is left of the tree: processes that carry mark in their environment.
func (w *watch) end(mark string) {
	close(w.stop)
	<-w.ended
	for pid := range w.seen {
		if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil && bytes.Contains(env, []byte(mark)) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by now
		}
	}
}

// tick is the unit of processor times in /proc on every platform we know.
const tick = 10 * time.Millisecond

// processorTime is that of a process and of the children it has waited for. The scheduler's own count of the process is
// finer than ticks.
func processorTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 15 {
		return 0
	}
	total := time.Duration(0)
	for _, f := range fields[11:15] { // utime, stime, cutime, cstime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0
		}
		total += time.Duration(n) * tick
	}
	return total
}
