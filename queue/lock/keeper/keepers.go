package keeper

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"bflow.dev/bflow/queue/lock"
	"bflow.dev/bflow/queue/lock/history"
	"bflow.dev/bflow/queue/target"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Options are what keepers depend on.
type Options struct {
	Hub     string // identity of this hub
	Targets *target.Registry
	Cache   client.Reader // of the hub
	Live    client.Reader // the same past its caches
	Log     *slog.Logger
	Clock   clock.Clock
}

// Keepers keep the Leases of all targets. It is a Runnable of the manager, for the leader only.
type Keepers struct {
	o       Options
	runs    runs
	keeping sync.WaitGroup // a goroutine for each keeper that works

	mu  sync.Mutex
	ctx context.Context // of Start; nil before and after
	all map[string]*keeper
}

var _ manager.Runnable = (*Keepers)(nil)

// New makes keepers; nothing is read until Start.
func New(o Options) *Keepers {
	return &Keepers{o: o, runs: runs{o.Cache, o.Live}, all: map[string]*keeper{}}
}

// Start keeps the Leases until ctx ends, and returns when no keeper works any more. It looks at every target once,
// for a Lease that a controller before this one has held, and then at those that runs need.
func (k *Keepers) Start(ctx context.Context) error {
	history.Write(k.o.Log, history.Event{Kind: history.Born, Hub: k.o.Hub})
	changes := k.o.Targets.Changes()
	defer k.end()
	k.begin(ctx)
	for _, t := range k.o.Targets.All() {
		k.of(t.Name)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case names := <-changes:
			for _, name := range names {
				if _, err := k.o.Targets.Find(name); err == nil {
					k.of(name)
				}
			}
		}
	}
}

func (k *Keepers) begin(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ctx = ctx
	for _, one := range k.all {
		k.keeping.Go(func() { one.keep(ctx) })
	}
}

// end lets no keeper begin any more, and waits for those that did.
func (k *Keepers) end() {
	k.mu.Lock()
	k.ctx = nil
	k.mu.Unlock()
	k.keeping.Wait()
}

// of returns the keeper of a target, which begins to work when keepers are started.
func (k *Keepers) of(name string) *keeper {
	k.mu.Lock()
	defer k.mu.Unlock()
	one := k.all[name]
	if one == nil {
		one = &keeper{name: name, o: k.o, runs: k.runs, memory: lock.NewMemory(k.o.Hub), wake: make(chan struct{}, 1),
			gone: func() { k.forget(name) }}
		k.all[name] = one
		if ctx := k.ctx; ctx != nil {
			k.keeping.Go(func() { one.keep(ctx) })
		}
	}
	return one
}

// forget drops the keeper of a target that is no more. One that comes back is begun anew.
func (k *Keepers) forget(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.all, name)
}

// Fence is the number by which a run with a key may be let start on a target now. It is asked for at the last moment:
// what the check has granted may be long ago.
func (k *Keepers) Fence(name, key string) (int64, error) {
	one := k.of(name)
	one.mu.Lock()
	defer one.mu.Unlock()
	fence, ok := one.memory.FenceFor(k.o.Clock.Now(), key)
	if !ok {
		return 0, fmt.Errorf("the lock of target %q is not held for setup %q now; the run starts when it is%s", name, key,
			one.troubleClause())
	}
	return fence, nil
}

// Door judges the runs of one target at one moment.
type Door struct {
	keeper *keeper
	round  *lock.Round
	claims []lock.Request
	reason string
}

// Door opens a round of questions. claims are the runs that have leave to start on the target and have not. It answers
// from memory, at once.
func (k *Keepers) Door(ctx context.Context, name string, claims []lock.Request) (*Door, error) {
	started, err := k.runs.listStarted(ctx, name)
	if err != nil {
		return nil, err
	}
	one := k.of(name)
	one.mu.Lock()
	defer one.mu.Unlock()
	return &Door{keeper: one, round: one.memory.Round(k.o.Clock.Now(), name, started, claims), claims: keyed(claims),
		reason: one.troubleClause()}, nil
}

func keyed(all []lock.Request) []lock.Request {
	var out []lock.Request
	for _, q := range all {
		if q.Key != "" {
			out = append(out, q)
		}
	}
	return out
}

// Ask answers for one run. Runs come in their order.
func (d *Door) Ask(q lock.Request) lock.Answer {
	a := d.round.Ask(q)
	switch {
	case a.Granted && q.Key != "":
		d.claims = append(d.claims, q)
	case !a.Granted:
		a.Reason += d.reason
		a.Soon = a.Soon && d.reason == ""
	}
	return a
}

// Close ends the round: from now on the keeper works for what was asked.
func (d *Door) Close() {
	s := d.round.Situation()
	k := d.keeper
	k.mu.Lock()
	changed := !reflect.DeepEqual(k.claims, d.claims) || !reflect.DeepEqual(k.want, s.Want) ||
		k.curious != d.round.Curious() || len(d.claims) == 0 && s.Started == "" && k.isHolderLocked()
	k.claims, k.want, k.curious = d.claims, s.Want, d.round.Curious()
	k.mu.Unlock()
	if changed {
		k.trigger()
	}
}

// failureRetryDelay is how soon a keeper tries again what did not work.
const failureRetryDelay = 2 * time.Second
