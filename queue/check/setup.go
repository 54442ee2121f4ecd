package check

import (
	"context"
	"fmt"

	"bflow.dev/bflow/queue/lock/keeper"
	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/queue/watch"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Options are what the controller depends on.
type Options struct {
	Targets *target.Registry
	Hub     string           // identity of this hub
	Locks   *keeper.Keepers  // of the platforms of targets; nil = nobody locks
	Metrics *metrics.Metrics // nil = nothing is measured
}

const parallel = 8 // checks answered at a time

// Setup adds the controller to a manager.
func Setup(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &kueue.Workload{}, index, indexOf); err != nil {
		return fmt.Errorf("indexing Workloads: %w", err)
	}
	r := newReconciler(mgr.GetClient(), o, clock.RealClock{})
	all := handler.EnqueueRequestsFromMapFunc(r.allChecks)
	return ctrl.NewControllerManagedBy(mgr).Named("bflow-check").
		For(&kueue.AdmissionCheck{}).
		Watches(&kueue.Workload{}, handler.EnqueueRequestsFromMapFunc(checksOf), builder.WithPredicates(asked())).
		Watches(&kueue.ResourceFlavor{}, all, builder.WithPredicates(predicate.AnnotationChangedPredicate{})).
		Watches(&tektonv1.PipelineRun{}, handler.EnqueueRequestsFromMapFunc(r.checksOfRun),
			builder.WithPredicates(gaveBack())).
		WatchesRawSource(o.Targets.OnChange(handler.EnqueueRequestsFromMapFunc(r.checksAt))).
		Watches(&corev1.Namespace{}, all, builder.WithPredicates(watch.Enabled())).
		WithOptions(controller.Options{MaxConcurrentReconciles: parallel, RateLimiter: watch.Backoff()}).
		Complete(r)
}

func newReconciler(c client.Client, o Options, clk clock.Clock) *Reconciler {
	return &Reconciler{client: c, targets: o.Targets, hub: o.Hub, locks: o.Locks, metrics: o.Metrics, clock: clk,
		written: writings{all: map[string]map[types.UID]string{}}}
}

// allChecks asks for every check: whatever changed, a few of them are cheap to judge again.
func (r *Reconciler) allChecks(ctx context.Context, _ client.Object) []reconcile.Request {
	var list kueue.AdmissionCheckList
	if err := r.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing the checks")
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if list.Items[i].Spec.ControllerName == ControllerName {
			out = append(out, request(list.Items[i].Name))
		}
	}
	return out
}

// checksAt asks for the checks of one target, which is what obj is named like.
func (r *Reconciler) checksAt(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.checksOfTarget(ctx, obj.GetName())
}

// checksOfRun asks for the checks of the target that a run is on.
func (r *Reconciler) checksOfRun(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.checksOfTarget(ctx, run.Target(obj))
}

func (r *Reconciler) checksOfTarget(ctx context.Context, target string) []reconcile.Request {
	var list kueue.AdmissionCheckList
	if err := r.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing the checks")
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		check := &list.Items[i]
		if check.Spec.ControllerName != ControllerName {
			continue
		}
		if name, _, err := r.targetOf(ctx, check); err != nil || name == target {
			out = append(out, request(check.Name))
		}
	}
	return out
}

// checksOf asks for the checks of a Workload: also for that of another controller, which is then not ours to answer.
func checksOf(_ context.Context, obj client.Object) []reconcile.Request {
	w, ok := obj.(*kueue.Workload)
	if !ok {
		return nil
	}
	var out []reconcile.Request
	for _, c := range w.Status.AdmissionChecks {
		out = append(out, request(string(c.Name)))
	}
	return out
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// asked passes Workloads that hold quota or have just lost it: thousands that wait for quota are no concern of a check.
func asked() predicate.Predicate {
	holds := func(obj client.Object) bool {
		w, ok := obj.(*kueue.Workload)
		return ok && holdsQuota(w)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return holds(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return holds(e.ObjectOld) || holds(e.ObjectNew) },
		DeleteFunc: func(e event.DeleteEvent) bool { return holds(e.Object) },
	}
}

// gaveBack passes the moments at which a run takes or gives back its devices, by its own word.
func gaveBack() predicate.Predicate {
	word := func(obj client.Object) [3]bool {
		pr, ok := obj.(*tektonv1.PipelineRun)
		if !ok || !run.Ours(pr) {
			return [3]bool{}
		}
		return [3]bool{run.Holding(pr), run.Freed(pr), run.Released(pr)}
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, // it holds no quota, or its Workload is told
		UpdateFunc: func(e event.UpdateEvent) bool { return word(e.ObjectOld) != word(e.ObjectNew) },
		DeleteFunc: func(event.DeleteEvent) bool { return true },
	}
}
