package gc

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/target"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// Interval is how often a target is swept, beside each time that it comes back.
	Interval = 10 * time.Minute
	// sweepTimeout bounds one sweep of one target.
	sweepTimeout = 2 * time.Minute
)

// Options are what the collector depends on.
type Options struct {
	Hub     Hub
	Targets *target.Registry
	Metrics *metrics.Metrics
	Log     *slog.Logger
	Clock   clock.Clock
}

// Collector sweeps all targets, each by itself, so that one that does not answer delays no other. It is a Runnable of
// the manager, for the leader only.
type Collector struct {
	o       Options
	working sync.WaitGroup // a goroutine for each round

	mu     sync.Mutex
	rounds map[string]*round
}

var _ manager.Runnable = (*Collector)(nil)

// round is the work at one target.
type round struct {
	wake chan struct{}
	up   bool // its API server answered when it was last heard of
}

// NewCollector makes a collector.
func NewCollector(o Options) *Collector { return &Collector{o: o, rounds: map[string]*round{}} }

// Start works until ctx ends, and returns when no sweep goes on any more.
func (c *Collector) Start(ctx context.Context) error {
	defer c.working.Wait()
	changes := c.o.Targets.Changes()
	for _, t := range c.o.Targets.All() {
		c.observe(ctx, t)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case names := <-changes:
			for _, name := range names {
				if t, err := c.o.Targets.Find(name); err == nil {
					c.observe(ctx, t)
				}
			}
		}
	}
}

// observe begins the work at a target, and has it swept again when the target is back.
func (c *Collector) observe(ctx context.Context, t target.Target) {
	up := t.Sight == nil || t.Sight.Reach().Up
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.rounds[t.Name]
	if r == nil {
		r = &round{wake: make(chan struct{}, 1)}
		c.rounds[t.Name] = r
		c.working.Go(func() { c.work(ctx, t.Name, r) })
	}
	if up && !r.up {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
	r.up = up
}

// work sweeps one target again and again, until it is no more.
func (c *Collector) work(ctx context.Context, name string, r *round) {
	for {
		again := c.o.Clock.NewTimer(Interval)
		select {
		case <-ctx.Done():
		case <-again.C():
		case <-r.wake:
		}
		again.Stop()
		t, err := c.o.Targets.Find(name)
		if err != nil || ctx.Err() != nil {
			c.mu.Lock()
			delete(c.rounds, name)
			c.mu.Unlock()
			return
		}
		c.sweep(ctx, t)
	}
}

// sweep looks at a target once, and deletes the leaks there.
func (c *Collector) sweep(ctx context.Context, t target.Target) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	log := c.o.Log.With("target", t.Name)
	namespaces, err := c.o.Hub.Served(ctx, t.Name)
	if err != nil {
		log.Warn("looking for what runs have left", "error", err.Error())
		return
	}
	leaks, err := c.o.Hub.Find(ctx, t.Live, t.Name, namespaces)
	if err != nil {
		log.Warn("looking for what runs have left", "error", err.Error())
	}
	if err == nil || len(leaks) > 0 {
		c.o.Metrics.Leaked.WithLabelValues(t.Name).Set(float64(len(leaks)))
	}
	why := map[string]string{}
	for _, l := range leaks {
		why[l.Run()] = l.Why
	}
	err = DeleteLeaks(ctx, t.Live, leaks, func(o Object) {
		c.o.Metrics.Leftovers.WithLabelValues(t.Name, o.Kind).Inc()
		log.Info("deleted what a run had left", "namespace", o.Namespace, "run", o.Run(), "object", o.String(), "why",
			why[o.Run()])
	})
	if err != nil {
		log.Warn("deleting what runs have left", "error", err.Error())
	}
}
