// Package teller publishes the observed state of targets for bflow target list, because a person at the hub has no
// access to them. It decides nothing.
package teller

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"bflow.dev/bflow/queue/capacity"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/queue/target/seen"
	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

const (
	// gather is how long changes are gathered: nobody reads faster.
	gather = 2 * time.Second
	// startup is how long after its start the controller may take to read the Secrets of its targets, before one that it
	// has not found there counts as unknown.
	startup = 10 * time.Second
)

// Reconciler writes a ConfigMap for each target, which a request names.
type Reconciler struct {
	client  client.Client
	targets *target.Registry
	hub     string
	clock   clock.PassiveClock
	told    map[string]string // by target: what was written last, or lost
}

var _ reconcile.Reconciler = (*Reconciler)(nil)

// NewReconciler makes the reconciler; hub is the identity of this one.
func NewReconciler(c client.Client, targets *target.Registry, hub string, clk clock.PassiveClock) *Reconciler {
	return &Reconciler{client: c, targets: targets, hub: hub, clock: clk, told: map[string]string{}}
}

// Setup registers it.
func Setup(mgr ctrl.Manager, targets *target.Registry, hub string) error {
	ofRun := func(_ context.Context, o client.Object) []reconcile.Request { return watch.ByName(run.Target(o)) }
	return ctrl.NewControllerManagedBy(mgr).Named("bflow-target-teller").
		WatchesRawSource(targets.OnChange(watch.Debounce(gather, watch.Itself))).
		Watches(&tektonv1.PipelineRun{}, watch.Debounce(gather, ofRun), builder.WithPredicates(capacity.HolderChanged())).
		// a target whose Secret is gone before the controller starts is told of by nobody else
		Watches(&kueue.ResourceFlavor{}, watch.Debounce(startup, ofFlavor)).
		WithOptions(controller.Options{RateLimiter: watch.Backoff()}).
		Complete(NewReconciler(mgr.GetClient(), targets, hub, clock.RealClock{}))
}

// ofFlavor asks for the target that a ResourceFlavor stands for.
func ofFlavor(_ context.Context, o client.Object) []reconcile.Request {
	flavor, ok := o.(*kueue.ResourceFlavor)
	if !ok || flavor.Spec.NodeLabels[contract.LabelTarget] == "" {
		return nil
	}
	return watch.ByName(flavor.Spec.NodeLabels[contract.LabelTarget])
}

// Reconcile writes what has changed of one target.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	sight, known := r.targets.Look(req.Name)
	if !known {
		return ctrl.Result{}, r.tellLost(ctx, req.Name)
	}
	if sight == nil {
		return ctrl.Result{}, nil
	}
	reach := sight.Reach()
	now := seen.Target{Up: reach.Up, Since: reach.Since.UTC().Truncate(time.Second), Why: reach.Why}
	if v, ok := sight.(interface{ Version() string }); ok {
		now.Version = v.Version()
	}
	if sight.Ready() {
		owner, err := capacity.Owner(ctx, r.client, r.hub)
		if err != nil {
			return ctrl.Result{}, err
		}
		inventory, err := sight.Inventory(ctx, owner)
		if err != nil {
			return ctrl.Result{}, err
		}
		now.Count(inventory)
	}
	return ctrl.Result{}, r.tell(ctx, req.Name, now)
}

func (r *Reconciler) tell(ctx context.Context, name string, now seen.Target) error {
	cm, err := now.ConfigMap(name)
	if err != nil || r.told[name] == cm.Data[seen.Key] {
		return err
	}
	if err := put(ctx, r.client, cm); err != nil {
		return fmt.Errorf("writing what is seen of target %q: %w", name, err)
	}
	r.told[name] = cm.Data[seen.Key]
	return nil
}

// lost is what is told of a target that the controller has no way to.
const lost = "Secret %s in %s is missing or cannot be read; bflow target add with the same name makes it anew"

// tellLost writes that once, where something is written of the target: who removes a target removes that too.
func (r *Reconciler) tellLost(ctx context.Context, name string) error {
	if r.told[name] == lost {
		return nil
	}
	now := seen.Target{Since: r.clock.Now().UTC().Truncate(time.Second), Why: fmt.Sprintf(lost, contract.TargetCredentials(name), contract.NamespaceSystem)}
	cm, err := now.ConfigMap(name)
	if err != nil {
		return err
	}
	if err := replace(ctx, r.client, cm); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing that target %q is lost: %w", name, err)
	}
	r.told[name] = lost
	return nil
}

// put makes or replaces. It needs no right to read.
func put(ctx context.Context, c client.Client, cm *corev1.ConfigMap) error {
	err := replace(ctx, c, cm)
	if apierrors.IsNotFound(err) {
		return c.Create(ctx, cm)
	}
	return err
}

func replace(ctx context.Context, c client.Client, cm *corev1.ConfigMap) error {
	change, err := json.Marshal(map[string]any{"data": cm.Data})
	if err != nil {
		return err
	}
	return c.Patch(ctx, cm.DeepCopy(), client.RawPatch(types.MergePatchType, change))
}
