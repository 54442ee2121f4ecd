package capacity

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
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
	// statusDebounce is how long changes are gathered before a status is written: nobody reads faster.
	statusDebounce = 2 * time.Second
	// unknownTargetGrace is how long after its start the controller may take to read the Secrets of its targets, before
	// one that it has not found there counts as unknown.
	unknownTargetGrace = 10 * time.Second
)

// StatusReconciler writes a ConfigMap for each target, which a request names.
type StatusReconciler struct {
	client  client.Client
	targets *target.Registry
	hub     string
	clock   clock.PassiveClock
	written map[string]string // by target: what was written last, or lostTarget
}

var _ reconcile.Reconciler = (*StatusReconciler)(nil)

// NewStatusReconciler makes the reconciler; hub is the identity of this one.
func NewStatusReconciler(c client.Client, targets *target.Registry, hub string,
	clk clock.PassiveClock) *StatusReconciler {
	return &StatusReconciler{client: c, targets: targets, hub: hub, clock: clk, written: map[string]string{}}
}

// SetupStatus registers it.
func SetupStatus(mgr ctrl.Manager, targets *target.Registry, hub string) error {
	ofRun := func(_ context.Context, o client.Object) []reconcile.Request { return watch.ByName(run.Target(o)) }
	return ctrl.NewControllerManagedBy(mgr).Named("bflow-target-status").
		WatchesRawSource(targets.OnChange(watch.Debounce(statusDebounce, watch.Itself))).
		Watches(&tektonv1.PipelineRun{}, watch.Debounce(statusDebounce, ofRun), builder.WithPredicates(HolderChanged())).
		// a target whose Secret is gone before the controller starts has no other event
		Watches(&kueue.ResourceFlavor{}, watch.Debounce(unknownTargetGrace, ofFlavor)).
		WithOptions(controller.Options{RateLimiter: watch.Backoff()}).
		Complete(NewStatusReconciler(mgr.GetClient(), targets, hub, clock.RealClock{}))
}

// ofFlavor requests the target that a ResourceFlavor stands for.
func ofFlavor(_ context.Context, o client.Object) []reconcile.Request {
	flavor, ok := o.(*kueue.ResourceFlavor)
	if !ok || flavor.Spec.NodeLabels[contract.LabelTarget] == "" {
		return nil
	}
	return watch.ByName(flavor.Spec.NodeLabels[contract.LabelTarget])
}

// Reconcile writes what has changed of one target.
func (r *StatusReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	sight, known := r.targets.Look(req.Name)
	if !known {
		return ctrl.Result{}, r.writeLost(ctx, req.Name)
	}
	if sight == nil {
		return ctrl.Result{}, nil
	}
	reach := sight.Reach()
	now := target.Status{Up: reach.Up, Since: reach.Since.UTC().Truncate(time.Second), Why: reach.Why}
	if v, ok := sight.(interface{ Version() string }); ok {
		now.Version = v.Version()
	}
	if sight.Ready() {
		owner, err := Owner(ctx, r.client, r.hub)
		if err != nil {
			return ctrl.Result{}, err
		}
		inventory, err := sight.Inventory(ctx, owner)
		if err != nil {
			return ctrl.Result{}, err
		}
		now.CountDevices(inventory)
	}
	return ctrl.Result{}, r.writeStatus(ctx, req.Name, now)
}

func (r *StatusReconciler) writeStatus(ctx context.Context, name string, now target.Status) error {
	cm, err := now.ConfigMap(name)
	if err != nil || r.written[name] == cm.Data[target.StatusKey] {
		return err
	}
	if err := putConfigMap(ctx, r.client, cm); err != nil {
		return fmt.Errorf("writing the status of target %q: %w", name, err)
	}
	r.written[name] = cm.Data[target.StatusKey]
	return nil
}

// lostTarget is the status of a target whose credentials the controller does not have.
const lostTarget = "Secret %s in %s is missing or cannot be read; bflow target add with the same name recreates it"

// writeLost writes that once, where something is written of the target: who removes a target removes that too.
func (r *StatusReconciler) writeLost(ctx context.Context, name string) error {
	if r.written[name] == lostTarget {
		return nil
	}
	now := target.Status{Since: r.clock.Now().UTC().Truncate(time.Second),
		Why: fmt.Sprintf(lostTarget, contract.TargetCredentials(name), contract.NamespaceSystem)}
	cm, err := now.ConfigMap(name)
	if err != nil {
		return err
	}
	if err := replaceData(ctx, r.client, cm); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing that target %q is lost: %w", name, err)
	}
	r.written[name] = lostTarget
	return nil
}

// putConfigMap makes or replaces it. It needs no right to read.
func putConfigMap(ctx context.Context, c client.Client, cm *corev1.ConfigMap) error {
	err := replaceData(ctx, c, cm)
	if apierrors.IsNotFound(err) {
		return c.Create(ctx, cm)
	}
	return err
}

func replaceData(ctx context.Context, c client.Client, cm *corev1.ConfigMap) error {
	change, err := json.Marshal(map[string]any{"data": cm.Data})
	if err != nil {
		return err
	}
	return c.Patch(ctx, cm.DeepCopy(), client.RawPatch(types.MergePatchType, change))
}
