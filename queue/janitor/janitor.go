package janitor

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"bflow.dev/bflow/queue/leftover"
	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/target"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// Every is how often a target is looked at, beside each time that it comes back.
	Every = 10 * time.Minute
	// patience bounds one look at one target.
	patience = 2 * time.Minute
)

// Options are what the janitor depends on.
type Options struct {
	Hub     Hub
	Targets *target.Registry
	Metrics *metrics.Metrics
	Log     *slog.Logger
	Clock   clock.Clock
}

// Janitor looks after all targets, each by itself, so that one that does not answer delays no other. It is a Runnable of
// the manager, for the leader only.
type Janitor struct {
	o       Options
	working sync.WaitGroup // a goroutine for each round

	mu     sync.Mutex
	rounds map[string]*round
}

var _ manager.Runnable = (*Janitor)(nil)

// round is the work at one target.
type round struct {
	wake chan struct{}
	up   bool // its API server answered when it was last heard of
}

// New makes a janitor.
func New(o Options) *Janitor { return &Janitor{o: o, rounds: map[string]*round{}} }

// Start works until ctx ends, and returns when nothing is looked at any more.
func (j *Janitor) Start(ctx context.Context) error {
	defer j.working.Wait()
	changes := j.o.Targets.Changes()
	for _, t := range j.o.Targets.All() {
		j.heard(ctx, t)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case names := <-changes:
			for _, name := range names {
				if t, err := j.o.Targets.Find(name); err == nil {
					j.heard(ctx, t)
				}
			}
		}
	}
}

// heard begins the work at a target, and lets it look again when the target is back.
func (j *Janitor) heard(ctx context.Context, t target.Target) {
	up := t.Sight == nil || t.Sight.Reach().Up
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.rounds[t.Name]
	if r == nil {
		r = &round{wake: make(chan struct{}, 1)}
		j.rounds[t.Name] = r
		j.working.Go(func() { j.work(ctx, t.Name, r) })
	}
	if up && !r.up {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
	r.up = up
}

// work looks at one target again and again, until it is no more.
func (j *Janitor) work(ctx context.Context, name string, r *round) {
	for {
		again := j.o.Clock.NewTimer(Every)
		select {
		case <-ctx.Done():
		case <-again.C():
		case <-r.wake:
		}
		again.Stop()
		t, err := j.o.Targets.Find(name)
		if err != nil || ctx.Err() != nil {
			j.mu.Lock()
			delete(j.rounds, name)
			j.mu.Unlock()
			return
		}
		j.sweep(ctx, t)
	}
}

// sweep looks at a target once.
func (j *Janitor) sweep(ctx context.Context, t target.Target) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	log := j.o.Log.With("target", t.Name)
	namespaces, err := j.o.Hub.Served(ctx, t.Name)
	if err != nil {
		log.Warn("looking for what runs have left", "error", err.Error())
		return
	}
	leaks, err := j.o.Hub.Find(ctx, t.Live, t.Name, namespaces)
	if err != nil {
		log.Warn("looking for what runs have left", "error", err.Error())
	}
	if err == nil || len(leaks) > 0 {
		j.o.Metrics.Leaked.WithLabelValues(t.Name).Set(float64(len(leaks)))
	}
	why := map[string]string{}
	for _, l := range leaks {
		why[l.Run()] = l.Why
	}
	err = Remove(ctx, t.Live, leaks, func(o leftover.Object) {
		j.o.Metrics.Leftovers.WithLabelValues(t.Name, o.Kind).Inc()
		log.Info("deleted what a run had left", "namespace", o.Namespace, "run", o.Run(), "object", o.String(), "why", why[o.Run()])
	})
	if err != nil {
		log.Warn("deleting what runs have left", "error", err.Error())
	}
}
