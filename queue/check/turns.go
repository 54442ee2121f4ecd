package check

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// turns lets one request at a time judge the runs of a target. Requests for several targets do not wait for each other:
// what takes time is the API server.
type turns struct {
	mu  sync.Mutex
	all map[string]*sync.Mutex // by target
}

// take waits for the turn at a target; the caller ends it.
func (t *turns) take(target string) (end func()) {
	t.mu.Lock()
	if t.all == nil {
		t.all = map[string]*sync.Mutex{}
	}
	one := t.all[target]
	if one == nil {
		one = &sync.Mutex{}
		t.all[target] = one
	}
	t.mu.Unlock()
	one.Lock()
	return one.Unlock
}

// writings are, by check, the version of each Workload that was answered, until the cache shows a newer one.
type writings struct {
	mu  sync.Mutex
	all map[string]map[types.UID]string
}

// stale says whether the cache does not show yet what was answered to one of waiting.
func (w *writings) stale(check string, waiting []reservation) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := map[types.UID]string{}
	for _, r := range waiting {
		if version, ok := w.all[check][r.workload.UID]; ok && version == r.workload.ResourceVersion {
			seen[r.workload.UID] = version
		}
	}
	w.all[check] = seen
	return len(seen) > 0
}

func (w *writings) add(check string, workload types.UID, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all[check] == nil {
		w.all[check] = map[types.UID]string{}
	}
	w.all[check][workload] = version
}
