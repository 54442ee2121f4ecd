// Package remote makes targets of Secrets: whatever cluster lies behind bflow-target-<name> is reached, looked at and
// let go with it, and its token is renewed with the token itself. It must not know runs, nor hold a credential of a
// person.
package remote

import (
	"context"
	"fmt"
	"sync"

	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/transport"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Connector keeps a connection to every target. It works in every replica, so that who takes over sees at once.
type Connector struct {
	client  client.Reader
	targets *target.Registry
	scheme  *runtime.Scheme
	clock   clock.PassiveClock
	life    context.Context       // connections live as long as the process, not as a request
	guard   transport.WrapperFunc // of all requests to targets, nil for none

	running sync.WaitGroup // a goroutine for each connection

	mu    sync.Mutex
	ended bool
	conns map[string]*connection // by name of the Secret
}

var (
	_ reconcile.Reconciler           = (*Connector)(nil)
	_ manager.Runnable               = (*Connector)(nil)
	_ manager.LeaderElectionRunnable = (*Connector)(nil)
)

// NewConnector makes the reconciler of Secrets; connections end with life at the latest.
func NewConnector(life context.Context, c client.Reader, targets *target.Registry, scheme *runtime.Scheme,
	clk clock.PassiveClock) *Connector {
	return &Connector{client: c, targets: targets, scheme: scheme, clock: clk, life: life, conns: map[string]*connection{}}
}

// Start waits until ctx ends, and returns when no connection is left: the manager waits for that.
func (r *Connector) Start(ctx context.Context) error {
	<-ctx.Done()
	r.mu.Lock()
	r.ended = true
	for _, conn := range r.conns {
		conn.end()
	}
	r.mu.Unlock()
	r.running.Wait()
	return nil
}

// NeedLeaderElection is false: it works in every replica.
func (r *Connector) NeedLeaderElection() bool { return false }

// Setup registers the reconcilers of Secrets. ctx is that of the process.
func Setup(ctx context.Context, mgr ctrl.Manager, targets *target.Registry, namespace string) error {
	secrets, err := newCache(mgr, namespace)
	if err != nil {
		return fmt.Errorf("watching the Secrets of targets: %w", err)
	}
	reads, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(),
		Mapper: mgr.GetRESTMapper(),
		Cache:  &client.CacheOptions{Reader: secrets}})
	if err != nil {
		return fmt.Errorf("making a client of the Secrets of targets: %w", err)
	}
	connector := NewConnector(ctx, reads, targets, mgr.GetScheme(), clock.RealClock{})
	connector.guard = mgr.GetConfig().WrapTransport // who must not change the hub must not change a target
	if err := mgr.Add(connector); err != nil {
		return err
	}
	watched := func() source.Source {
		return source.Kind(secrets, &corev1.Secret{}, &handler.TypedEnqueueRequestForObject[*corev1.Secret]{},
			predicate.NewTypedPredicateFuncs(isTarget))
	}
	if err := ctrl.NewControllerManagedBy(mgr).Named("bflow-targets").
		WatchesRawSource(watched()).
		WithOptions(controller.Options{NeedLeaderElection: new(false), RateLimiter: watch.Backoff(),
			CacheSyncTimeout: watch.CacheSyncTimeout}).
		Complete(connector); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("bflow-target-tokens").
		WatchesRawSource(watched()).
		// a slow target delays no other
		WithOptions(controller.Options{MaxConcurrentReconciles: renewals, RateLimiter: watch.Backoff(),
			CacheSyncTimeout: watch.CacheSyncTimeout}).
		Complete(NewRenewer(reads, targets, clock.RealClock{}))
}

// newCache is one of the Secrets of targets, and of no other, beside that of the manager, which must not wait for it.
// The field keeps it to a namespace without the caches of several, of which one that ends before it is filled leaves
// goroutines.
func newCache(mgr ctrl.Manager, namespace string) (cache.Cache, error) {
	ofTargets, err := labels.Parse(contract.LabelTarget)
	if err != nil {
		return nil, err
	}
	secrets, err := cache.New(mgr.GetConfig(), cache.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		HTTPClient:       mgr.GetHTTPClient(),
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Label: ofTargets, Field: fields.OneTermEqualSelector("metadata.namespace", namespace)}}})
	if err != nil {
		return nil, err
	}
	return secrets, mgr.Add(secrets)
}

func isTarget(o *corev1.Secret) bool {
	name := o.GetLabels()[contract.LabelTarget]
	return name != "" && name != contract.TargetLocal && o.GetName() == contract.TargetCredentials(name)
}

// Reconcile opens, changes or ends one connection. It asks nobody but its cache.
func (r *Connector) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	secret := &corev1.Secret{}
	err := r.client.Get(ctx, req.NamespacedName, secret)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return ctrl.Result{}, nil
	}
	if err != nil || !secret.DeletionTimestamp.IsZero() || !isTarget(secret) {
		r.close(req.Name)
		return ctrl.Result{}, nil
	}
	log := ctrl.LoggerFrom(ctx)
	c, err := target.ReadCredentials(secret)
	if err != nil { // a connection that is there goes on
		log.Info("a target is not as bflow target add leaves it", "secret", req.Name, "why", err.Error())
		return ctrl.Result{}, nil
	}
	if conn := r.conns[req.Name]; conn != nil && conn.serves(c) {
		if conn.token.set(c.Token) {
			conn.sight.AskNow() // what was refused may be taken now
		}
		return ctrl.Result{}, nil
	}
	conn, err := connect(r.life, c, r.scheme, r.guard, func() { r.targets.Tell(c.Target) },
		func() { r.targets.Renew(c.Target) }, r.clock)
	if err != nil {
		log.Info("a target cannot be reached as its Secret says", "target", c.Target, "why", err.Error())
		return ctrl.Result{}, nil
	}
	r.close(req.Name)
	r.running.Go(conn.run)
	r.conns[req.Name] = conn
	r.targets.Put(conn.target())
	r.targets.Renew(c.Target) // what runs have may lead elsewhere than this one
	log.Info("target added", "target", c.Target)
	return ctrl.Result{}, nil
}

func (r *Connector) close(secret string) {
	conn := r.conns[secret]
	if conn == nil {
		return
	}
	conn.end()
	delete(r.conns, secret)
	r.targets.Drop(conn.of.Target)
}
