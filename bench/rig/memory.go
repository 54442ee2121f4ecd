package rig

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Memory is what the kernel says of a process at one moment.
type Memory struct {
	RSS, Peak, Anon int64 // bytes; Peak is the highest RSS so far
	Threads         int
	Descriptors     int
}

// ReadMemory reads /proc of a process; false when it is gone.
func ReadMemory(pid int) (Memory, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, false
	}
	m := parseStatus(string(text))
	if open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)); err == nil {
		m.Descriptors = len(open)
	}
	return m, m.RSS > 0
}

func parseStatus(text string) Memory {
	var m Memory
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		if len(fields) == 0 {
			continue
		}
		n, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "VmRSS":
			m.RSS = n << 10
		case "VmHWM":
			m.Peak = n << 10
		case "RssAnon":
			m.Anon = n << 10
		case "Threads":
			m.Threads = int(n)
		}
	}
	return m
}

// Times between two looks at a process, and at all its descendants.
const (
	lookEvery = 25 * time.Millisecond
	treeEvery = 8 // looks
)

// watch samples the memory of a process until it ends. The peak of getrusage cannot be used: a child begins with the
// peak of the process that forked it, which is this one with all its logs. The kernel keeps the peak of the process
// itself, so a sample misses only what grows in the last lookEvery.
type watch struct {
	end, ended chan struct{}
	peak, tree int64
}

func startWatch(pid int) *watch {
	w := &watch{end: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-w.end:
				return
			case <-tick.C:
				w.look(pid, i%treeEvery == 0)
			}
		}
	}()
	return w
}

func (w *watch) look(pid int, tree bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return
	}
	w.peak = max(w.peak, parseStatus(string(text)).Peak)
	if tree {
		w.tree = max(w.tree, treeMemory(pid))
	}
}

func (w *watch) stop() (peak, tree int64) {
	close(w.end)
	<-w.ended
	return w.peak, w.tree
}

// treeMemory returns the anonymous memory of pid and its descendants.
func treeMemory(pid int) (total int64) {
	for _, p := range Tree(pid) {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p)); err == nil {
			total += parseStatus(string(text)).Anon
		}
	}
	return total
}

// Tree returns pid and all its descendants.
func Tree(pid int) []int {
	out := []int{pid}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return out
	}
	for _, t := range tasks {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(children)) {
			if child, err := strconv.Atoi(field); err == nil {
				out = append(out, Tree(child)...)
			}
		}
	}
	return out
}
