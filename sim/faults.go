package sim

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"bflow.dev/bflow/runplan"
)

// window is a fault with its time span on the monotonic clock.
type window struct {
	runplan.Fault
	kind, value string
	from, to    int64 // to 0 = no end
}

func (w window) open(now int64) bool { return now >= w.from && (w.to == 0 || now < w.to) }

// ofServer tells that the fault is none of single requests.
func (w window) ofServer() bool {
	switch w.kind {
	case runplan.FaultFreeze, runplan.FaultNotReady, runplan.FaultWrongModel, runplan.FaultSlowAccept, runplan.FaultCrash:
		return true
	}
	return false
}

// faults are the misbehaviours in force. Which requests a share hits depends on the seed, the fault and the number
// of the request alone.
type faults struct {
	seed uint64

	mu      sync.RWMutex
	windows []window
}

// add puts f in force, its times counted from the monotonic time zero.
func (fs *faults) add(f runplan.Fault, zero int64) {
	w := window{Fault: f, from: zero + int64(f.After)}
	w.kind, w.value = f.Split()
	if f.Duration > 0 {
		w.to = w.from + int64(f.Duration)
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.windows = append(fs.windows, w)
}

// list returns the faults, those over included.
func (fs *faults) list() []runplan.Fault {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	all := make([]runplan.Fault, len(fs.windows))
	for i, w := range fs.windows {
		all[i] = w.Fault
	}
	return all
}

// clear ends all faults; a freeze that runs goes on to its end.
func (fs *faults) clear() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.windows = nil
}

// server returns the fault of the given kind that is in force now.
func (fs *faults) server(kind string, now int64) (window, bool) {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	for _, w := range fs.windows {
		if w.kind == kind && w.open(now) {
			return w, true
		}
	}
	return window{}, false
}

// hits are the faults that apply to one request, by kind.
type hits map[string]string

// draw returns the faults of request number n that arrived now. A nil map means none.
func (fs *faults) draw(n, now int64) hits {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	var h hits
	for i, w := range fs.windows {
		if w.ofServer() || !w.open(now) || !isHit(fs.seed, uint64(i), uint64(n), w.Share) {
			continue
		}
		if h == nil {
			h = hits{}
		}
		if _, twice := h[w.kind]; !twice {
			h[w.kind] = w.value
		}
	}
	return h
}

func (h hits) has(kind string) bool {
	_, ok := h[kind]
	return ok
}

// kinds returns the names of the faults, sorted.
func (h hits) kinds() []string {
	if len(h) == 0 {
		return nil
	}
	all := make([]string, 0, len(h))
	for kind := range h {
		all = append(all, kind)
	}
	slices.Sort(all)
	return all
}

// number returns the value of kind, or other where it has none.
func (h hits) number(kind string, other int) int {
	if n, err := strconv.Atoi(h[kind]); err == nil {
		return n
	}
	return other
}

func (w window) duration(other time.Duration) time.Duration {
	if d, err := time.ParseDuration(w.value); err == nil {
		return d
	}
	return other
}

// isHit tells whether share, of which 0 means all, hits request n.
func isHit(seed, fault, n uint64, share float64) bool {
	return share == 0 || float64(mix(seed^mix(fault<<32^n))>>11)/(1<<53) < share
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
