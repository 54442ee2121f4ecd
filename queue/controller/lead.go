package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
)

// lead is the lock of the leader's Lease, and knows whether this process may act as the leader. The elector does not
// tell in time: a leader that stood still and goes on believes in its Lease for another renew deadline, though
// somebody else leads. Versions of objects do not help either: what a leader decides of one run depends on what was
// granted to others.
//
// Only durations of one process are compared, so clocks of two machines may differ.
type lead struct {
	resourcelock.Interface
	valid time.Duration // for which a renewal is good: a request has a retry period to arrive before another replica leads
	// after which a replica that did not ask who leads stood still; it asks every 1 to 2.2 retry periods
	still time.Duration
	rest  time.Duration // of such a replica before it takes over: its caches catch up
	clock clock.PassiveClock
	lost  func(error) // ends the process

	mu      sync.Mutex
	renewed time.Time // when the last renewal was sent; zero for who does not lead
	looks   int       // how often it was asked who leads
	asked   time.Time // when it was last asked
	ready   time.Time // when it last could have taken the Lease
	woke    time.Time // when it went on after it had stood still
}

// elected makes the lock by which replicas elect their leader, and a copy of config whose clients change nothing
// without it. Without an election there is no lock, and config is as it was.
func elected(config *rest.Config, o Options, lost func(error)) (*rest.Config, resourcelock.Interface, error) {
	if !o.LeaderElection {
		return config, nil, nil
	}
	lock, err := newLead(config, o, clock.RealClock{}, lost)
	if err != nil {
		return nil, nil, err
	}
	config = rest.CopyConfig(config)
	config.Wrap(lock.guard)
	return config, lock, nil
}

// newLead makes the lock. Its requests are not held to itself: config must not be one that guard wraps.
func newLead(config *rest.Config, o Options, c clock.PassiveClock, lost func(error)) (*lead, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("naming this replica: %w", err)
	}
	config = rest.AddUserAgent(config, "leader-election")
	config.Timeout = max(o.RenewDeadline/2, time.Second) // one request that hangs must not cost the Lease
	config.ContentType = runtime.ContentTypeJSON
	leases, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of leases: %w", err)
	}
	return &lead{
		Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.SystemNamespace, Name: leaseName},
			Client:     leases,
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		},
		valid: o.LeaseDuration - o.RetryPeriod, still: 4 * o.RetryPeriod, rest: o.LeaseDuration, clock: c, lost: lost,
	}, nil
}

// Get reads who leads. A replica that stood still learns nothing for a time, and a leader that another one has followed
// ends.
func (l *lead) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if err := l.awake(); err != nil {
		return nil, nil, err
	}
	record, raw, err := l.Interface.Get(ctx)
	l.mu.Lock()
	l.asked = l.clock.Now()
	followed := err == nil && !l.renewed.IsZero() && record.HolderIdentity != l.Identity()
	l.mu.Unlock()
	if followed {
		l.lost(fmt.Errorf("leading: the lease went to another replica (%q) meanwhile", record.HolderIdentity))
	}
	return record, raw, err
}

// awake says why a replica must not take over yet: it asks all the time, and if it did not, it knows of nothing else
// that happened either.
func (l *lead) awake() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if l.renewed.IsZero() && !l.asked.IsZero() && passed(l.asked, now) > l.still {
		l.woke = now
	}
	l.asked = now
	l.looks++
	if !l.woke.IsZero() && passed(l.woke, now) < l.rest {
		return errors.New("this replica was suspended, and does not lead until its caches have caught up")
	}
	return nil
}

// Create takes a Lease that is not there.
func (l *lead) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Create(ctx, record) })
}

// Update takes, renews or gives back the Lease.
func (l *lead) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Update(ctx, record) })
}

func (l *lead) write(record resourcelock.LeaderElectionRecord, send func() error) error {
	ours := record.HolderIdentity == l.Identity()
	if !ours { // somebody else may lead before the answer is here
		l.note(time.Time{})
	}
	if ours && !l.mayTake() {
		return errors.New(
			"the lease is free; this replica takes it at its next check, because its caches may be stale until then")
	}
	sent := l.clock.Now()
	err := send()
	if err == nil && ours {
		l.note(sent)
	}
	return err
}

// mayTake says whether a replica takes a Lease that it can have: at the second look, or if its caches have just been
// filled. One that stood still for a moment, too short to notice, learns in between what the leader before did last.
func (l *lead) mayTake() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	again := !l.ready.IsZero() && passed(l.ready, now) <= l.still
	l.ready = now
	return again || !l.renewed.IsZero() || l.looks <= 1
}

func (l *lead) note(renewed time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = renewed
}

// holds returns why nothing may be changed, nil where it may.
func (l *lead) holds() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed.IsZero() {
		return errors.New("this replica does not lead")
	}
	if ago := passed(l.renewed, l.clock.Now()); ago >= l.valid {
		return fmt.Errorf("this replica may not lead any more: its lease was last renewed %s ago",
			ago.Round(time.Millisecond))
	}
	return nil
}

// passed is the longer of what two clocks say: the monotonic one stands still with a virtual machine.
func passed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

// guard lets nothing change through next but while the Lease is held. It is the last thing that is asked before a
// request leaves: what was decided before the process stood still, or waited its turn here, goes no further.
func (l *lead) guard(next http.RoundTripper) http.RoundTripper { return guarded{next, l} }

type guarded struct {
	next http.RoundTripper
	lead *lead
}

// RoundTrip sends a request. Who reads needs no leave.
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := g.lead.holds(); err != nil {
			if r.Body != nil {
				r.Body.Close()
			}
			return nil, err
		}
	}
	return g.next.RoundTrip(r)
}

// WrappedRoundTripper is for who looks for the connections behind it.
func (g guarded) WrappedRoundTripper() http.RoundTripper { return g.next }
