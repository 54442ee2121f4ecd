package view

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bflow.dev/bflow/queue/devices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// rereadAfterOutage is an outage after which everything is read anew: a watch may not have noticed that its
// connection is dead.
const rereadAfterOutage = 30 * time.Second

// Target is a cluster whose devices are in sight. It is a Runnable of the manager.
type Target struct {
	Name  string
	Nodes labels.Selector // those that count; nil for all. It may be set before Start

	cfg   *rest.Config
	probe *probe
	tell  func()
	also  []watched

	mu   sync.Mutex
	open *sight // nil until the API server was reachable once
}

// errBack ends a watch that may be blind.
var errBack = errors.New("it is back after an outage")

var (
	_ manager.Runnable               = (*Target)(nil)
	_ manager.LeaderElectionRunnable = (*Target)(nil)
)

// New returns a view of the cluster of cfg. Nobody is asked anything until Start. tell is called after something that
// is counted has changed, or the API server went or came back; it must not block.
func New(cfg *rest.Config, name string, tell func()) (*Target, error) {
	t := &Target{Name: name, cfg: cfg, tell: tell}
	var err error
	if t.probe, err = newProbe(cfg, time.Now, tell); err != nil {
		return nil, fmt.Errorf("opening a view of target %q: %w", name, err)
	}
	return t, nil
}

// watched is something besides devices.
type watched struct {
	kind    client.Object
	by      cache.ByObject
	handler toolscache.ResourceEventHandler
}

// Also lets handler hear of other objects of the cluster, those that by chooses. It is for before Start.
func (t *Target) Also(kind client.Object, by cache.ByObject, handler toolscache.ResourceEventHandler) {
	t.also = append(t.also, watched{kind, by, handler})
}

// Start keeps the view up to date until ctx ends. A cluster that cannot be reached is tried again and again.
func (t *Target) Start(ctx context.Context) error {
	var probing sync.WaitGroup
	defer probing.Wait()
	probing.Go(func() { t.probe.run(ctx) })
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 30 * time.Second}
	delay := backoff
	for ctx.Err() == nil {
		s, err := openSight(t.cfg, t.tell, t.Nodes, t.also)
		if err == nil {
			delay = backoff
			err = t.keepOpen(ctx, s)
		}
		if ctx.Err() != nil {
			break
		}
		ctrl.LoggerFrom(ctx).Info("looking at the target again in a moment", "target", t.Name, "why", fmt.Sprint(err))
		select {
		case <-time.After(delay.Step()):
		case <-ctx.Done():
		}
	}
	return nil
}

// keepOpen keeps s up to date until ctx ends or the API server is back after a long outage.
func (t *Target) keepOpen(ctx context.Context, s *sight) error {
	var watching sync.WaitGroup
	defer watching.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.mu.Lock()
	t.open = s
	t.mu.Unlock()
	watching.Go(func() {
		if s.cache.WaitForCacheSync(ctx) {
			close(s.ready)
			t.tell()
		}
	})
	watching.Go(func() { t.renew(ctx, cancel) })
	watching.Go(func() { _ = s.beside.Start(ctx) }) // it ends with ctx, and without an error
	if err := s.cache.Start(ctx); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// renew ends a watch once the API server is back after a long outage.
func (t *Target) renew(ctx context.Context, end context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.probe.returned():
		}
		if t.probe.lastOutage() >= rereadAfterOutage {
			end(errBack)
			return
		}
	}
}

// NeedLeaderElection is false: who takes over sees at once.
func (t *Target) NeedLeaderElection() bool { return false }

func (t *Target) sight() *sight {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open
}

// Ready says whether the view is complete. While it is not, Inventory must not be asked.
func (t *Target) Ready() bool { return t.sight().complete() }

// Reach says whether the API server of the target answers.
func (t *Target) Reach() Reach { return t.probe.now() }

// AskNow lets the API server be asked at once whether it answers.
func (t *Target) AskNow() {
	select {
	case t.probe.wanted <- struct{}{}:
	default: // it will be
	}
}

// Version is that of the API server, "" while nobody knows it.
func (t *Target) Version() string { return t.probe.serverVersion() }

// Inventory counts what the target has, and who holds it. A view that is not ready is an error.
func (t *Target) Inventory(ctx context.Context, owner devices.Owner) (*devices.Inventory, error) {
	s := t.sight()
	if !s.complete() {
		return nil, fmt.Errorf("counting the devices of target %q: its nodes and pods are not all known yet", t.Name)
	}
	inv, err := s.inventory(ctx, owner)
	if err != nil {
		return nil, fmt.Errorf("counting the devices of target %q: %w", t.Name, err)
	}
	return inv, nil
}
