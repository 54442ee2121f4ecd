package target

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Registry is the one source of targets: they come and go while the controller runs. It is safe for concurrent use, and
// holds no lock while it talks to anybody.
type Registry struct {
	mu       sync.Mutex
	targets  map[string]Target
	changes  []subscription
	renewals []subscription
}

// NewRegistry holds some targets from the start.
func NewRegistry(targets ...Target) *Registry {
	r := &Registry{targets: map[string]Target{}}
	for _, t := range targets {
		r.targets[t.Name] = t
	}
	return r
}

// Put makes a target known, or replaces the one of its name.
func (r *Registry) Put(t Target) {
	r.mu.Lock()
	r.targets[t.Name] = t
	r.mu.Unlock()
	r.Tell(t.Name)
}

// Drop forgets a target.
func (r *Registry) Drop(name string) {
	r.mu.Lock()
	_, known := r.targets[name]
	delete(r.targets, name)
	r.mu.Unlock()
	if known {
		r.Tell(name)
	}
}

// Find returns the target of a name.
func (r *Registry) Find(name string) (Target, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.targets[name]
	if !ok {
		return Target{}, fmt.Errorf("finding target %q: the controller knows only %s; add it with bflow target add",
			name, cmp.Or(strings.Join(slices.Sorted(maps.Keys(r.targets)), ", "), "none"))
	}
	return found, nil
}

// Look returns the sight of a target, and whether the target is known; the sight of a known one may be nil.
func (r *Registry) Look(name string) (Sight, bool) {
	t, err := r.Find(name)
	return t.Sight, err == nil
}

// All returns the targets, by name.
func (r *Registry) All() []Target {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Values(r.targets), func(a, b Target) int { return strings.Compare(a.Name, b.Name) })
}

// Changes subscribes to the names of targets: of each that comes, goes, or in whose sight something changes. What
// arrives is all that nobody took yet, each name once, oldest first. A subscription has no goroutine, so nothing has
// to end it.
func (r *Registry) Changes() <-chan []string { return r.subscribe(&r.changes) }

// Renewals is the like for targets of which all access that was handed out must be asked for again.
func (r *Registry) Renewals() <-chan []string { return r.subscribe(&r.renewals) }

func (r *Registry) subscribe(to *[]subscription) <-chan []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := make(subscription, 1)
	*to = append(*to, s)
	return s
}

// Tell says that something about a target has changed. It does not wait for who listens.
func (r *Registry) Tell(name string) { r.tell(&r.changes, name) }

// Renew says that the access that was handed out to a target leads there no more.
func (r *Registry) Renew(name string) { r.tell(&r.renewals, name) }

func (r *Registry) tell(those *[]subscription, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range *those {
		s.add(name)
	}
}

// subscription holds the names that nobody took yet, in its only place.
type subscription chan []string

// add never blocks: the caller holds the lock of the registry, so that only a taker is there beside it, who leaves the
// place free.
func (s subscription) add(name string) {
	var names []string
	select {
	case names = <-s:
	default:
	}
	if !slices.Contains(names, name) {
		names = append(names, name)
	}
	s <- names
}
