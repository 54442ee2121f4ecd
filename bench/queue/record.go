package main

import (
	"slices"
	"sync"
	"time"
)

// record is what happened at each target: when something was let start, and when it gave its quota back.
type record struct {
	opened time.Time // when what had its place might end; what started before is not counted
	mu     sync.Mutex
	starts map[string][]time.Time
	ends   map[string][]time.Time
	begun  map[string]bool // by name: a start is told once
}

func newRecord() *record {
	return &record{starts: map[string][]time.Time{}, ends: map[string][]time.Time{}, begun: map[string]bool{}}
}

// start notes that name was let start; false when that was known.
func (r *record) start(target, name string, at time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun[name] {
		return false
	}
	r.begun[name] = true
	r.starts[target] = append(r.starts[target], at)
	return true
}

func (r *record) end(target string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends[target] = append(r.ends[target], at)
}

func (r *record) countStarted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.begun)
}

// figures of one side.
type figures struct {
	name        string
	rate        float64 // admissions a second, from when the first might end to the last
	wall        time.Duration
	handover    []time.Duration // from the end of one to the start of the next in its place, sorted
	controller  usage           // of bflow-controller meanwhile
	overTargets bool            // somewhere more had started than there is room for
}

// usage is what a controller took meanwhile.
type usage struct {
	memory float64 // most resident bytes
	calls  float64 // requests to API servers
}

// figures of what was recorded, where slots fit on a target at once.
func (r *record) figures(slots int) figures {
	r.mu.Lock()
	defer r.mu.Unlock()
	var f figures
	var all []time.Time
	for target, starts := range r.starts {
		slices.SortFunc(starts, time.Time.Compare)
		ends := slices.SortedFunc(slices.Values(r.ends[target]), time.Time.Compare)
		for _, at := range starts {
			if at.After(r.opened) {
				all = append(all, at)
			}
		}
		f.handover = append(f.handover, handovers(starts, ends, slots)...)
		f.overTargets = f.overTargets || atOnce(starts, ends) > slots
	}
	slices.SortFunc(all, time.Time.Compare)
	slices.Sort(f.handover)
	if n := len(all); n > 0 {
		f.wall = all[n-1].Sub(r.opened)
		f.rate = float64(n) / f.wall.Seconds()
	}
	return f
}

// handovers pairs the k-th end with the start that took its place: the one that had to wait for it, slots later. All
// ask for the same, so it does not matter which of them it is.
func handovers(starts, ends []time.Time, slots int) []time.Duration {
	var out []time.Duration
	for k, end := range ends {
		if k+slots >= len(starts) {
			break
		}
		out = append(out, starts[k+slots].Sub(end))
	}
	return out
}

// atOnce is the most that had started and not ended. An end at the same moment as a start came before it.
func atOnce(starts, ends []time.Time) int {
	most, j := 0, 0
	for i, s := range starts {
		for j < len(ends) && !ends[j].After(s) {
			j++
		}
		most = max(most, i+1-j)
	}
	return most
}

// quantile of sorted values, by the nearest rank.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
