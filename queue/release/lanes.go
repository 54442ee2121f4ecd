package release

import (
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// perTarget is how many runs of one target are looked after at a time. A target that hangs keeps so many workers, for
// seconds with each call, and leaves the others to other targets.
const perTarget = 16

// lanes lets so many runs of each target pass at a time. Who finds no place waits without a worker, and is asked for
// again when one is free, in the order in which they came.
type lanes struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request] // nil before the controller starts
	of    map[string]*lane                                        // by target, while somebody is in it
	woken map[reconcile.Request]string                            // who was asked for again: the target
}

type lane struct {
	busy    int
	waiting []reconcile.Request
	waits   map[reconcile.Request]bool
}

func newLanes() *lanes {
	return &lanes{of: map[string]*lane{}, woken: map[reconcile.Request]string{}}
}

// source gives the queue of the controller to l.
func (l *lanes) source() source.Source {
	return source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.queue = q
		return nil
	})
}

// enter says whether req may look after its run now; it must leave then. If not, it is asked for again.
func (l *lanes) enter(target string, req reconcile.Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.woken, req)
	in := l.of[target]
	if in == nil {
		in = &lane{waits: map[reconcile.Request]bool{}}
		l.of[target] = in
	}
	if in.busy < perTarget {
		in.busy++
		return true
	}
	if !in.waits[req] {
		in.waits[req] = true
		in.waiting = append(in.waiting, req)
	}
	return false
}

// leave ends what enter has begun.
func (l *lanes) leave(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.of[target]
	in.busy--
	l.wake(target)
}

// skip is for who enters no lane: its run is gone, or is none of ours. Where it was asked for again, the place that
// it was to have is the next one's.
func (l *lanes) skip(req reconcile.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if target, was := l.woken[req]; was {
		delete(l.woken, req)
		l.wake(target)
	}
}

// wake asks for who has waited longest, and forgets a lane in which nobody is.
func (l *lanes) wake(target string) {
	in := l.of[target]
	switch {
	case in == nil:
	case len(in.waiting) > 0 && l.queue != nil:
		next := in.waiting[0]
		in.waiting = in.waiting[1:]
		delete(in.waits, next)
		l.woken[next] = target
		l.queue.Add(next)
	case in.busy == 0:
		delete(l.of, target)
	}
}
