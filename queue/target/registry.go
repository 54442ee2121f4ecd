package target

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// Registry is the one source of targets: they come and go while the controller runs. It is safe for concurrent use, and
// holds no lock while it talks to anybody.
type Registry struct {
	mu       sync.Mutex
	targets  map[string]Target
	changes  []*listener
	renewals []*listener
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
		return Target{}, fmt.Errorf("finding target %q: the controller knows %s only; bflow target add makes it known",
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

// Changes returns a channel that gets an event when a target comes, goes, or something in its sight changes. The object
// of an event has the name of the target. Events of a target that nobody took yet are one.
func (r *Registry) Changes() <-chan event.GenericEvent { return r.listen(&r.changes) }

// Renewals is the like for targets of which every way that was handed out must be asked for again.
func (r *Registry) Renewals() <-chan event.GenericEvent { return r.listen(&r.renewals) }

func (r *Registry) listen(to *[]*listener) <-chan event.GenericEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &listener{ch: make(chan event.GenericEvent)}
	*to = append(*to, l)
	return l.ch
}

// Tell says that something about a target has changed. It does not wait for who listens.
func (r *Registry) Tell(name string) { r.tell(&r.changes, name) }

// Renew says that the ways that were handed out to a target lead there no more.
func (r *Registry) Renew(name string) { r.tell(&r.renewals, name) }

func (r *Registry) tell(those *[]*listener, name string) {
	r.mu.Lock()
	listeners := slices.Clone(*those)
	r.mu.Unlock()
	for _, l := range listeners {
		l.hear(name)
	}
}

// listener remembers what one who listens has not taken yet.
type listener struct {
	ch chan event.GenericEvent

	mu      sync.Mutex
	waiting []string
	busy    bool
}

func (l *listener) hear(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Contains(l.waiting, name) {
		return
	}
	l.waiting = append(l.waiting, name)
	if !l.busy {
		l.busy = true
		go l.deliver()
	}
}

// deliver lives as long as there is something to deliver.
func (l *listener) deliver() {
	for {
		l.mu.Lock()
		if len(l.waiting) == 0 {
			l.busy = false
			l.mu.Unlock()
			return
		}
		name := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.mu.Unlock()
		l.ch <- event.GenericEvent{Object: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}}
	}
}
