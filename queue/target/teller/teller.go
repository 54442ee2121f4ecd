// Package teller writes down what the controller sees of its targets, for bflow target list: a person at the hub has no
// way to them. It decides nothing.
package teller

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"bflow.dev/bflow/queue/capacity"
	"bflow.dev/bflow/queue/later"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/queue/target/seen"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// gather is how long changes are gathered: nobody reads faster.
const gather = 2 * time.Second

// Reconciler writes a ConfigMap for each target, which a request names.
type Reconciler struct {
	client  client.Client
	targets *target.Registry
	hub     string
	told    map[string]string // by target: what was written last
}

var _ reconcile.Reconciler = (*Reconciler)(nil)

// NewReconciler makes the reconciler; hub is the identity of this one.
func NewReconciler(c client.Client, targets *target.Registry, hub string) *Reconciler {
	return &Reconciler{client: c, targets: targets, hub: hub, told: map[string]string{}}
}

// Setup registers it.
func Setup(mgr ctrl.Manager, targets *target.Registry, hub string) error {
	ofRun := func(_ context.Context, o client.Object) []reconcile.Request { return later.Named(run.Target(o)) }
	return ctrl.NewControllerManagedBy(mgr).Named("bflow-target-teller").
		WatchesRawSource(targets.OnChange(later.Handler(gather, later.Itself))).
		Watches(&tektonv1.PipelineRun{}, later.Handler(gather, ofRun), builder.WithPredicates(capacity.HolderChanged())).
		WithOptions(controller.Options{RateLimiter: later.Retries()}).
		Complete(NewReconciler(mgr.GetClient(), targets, hub))
}

// Reconcile writes what has changed of one target.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	sight, _ := r.targets.Look(req.Name)
	if sight == nil {
		delete(r.told, req.Name) // who removes a target removes what is written of it
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

// put needs no right to read.
func put(ctx context.Context, c client.Client, cm *corev1.ConfigMap) error {
	change, err := json.Marshal(map[string]any{"data": cm.Data})
	if err != nil {
		return err
	}
	err = c.Patch(ctx, cm.DeepCopy(), client.RawPatch(types.MergePatchType, change))
	if apierrors.IsNotFound(err) {
		return c.Create(ctx, cm)
	}
	return err
}
