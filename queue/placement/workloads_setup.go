package placement

import (
	"context"
	"log/slog"
	"time"

	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/queue/watch"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Options are what the controller of Workloads depends on.
type Options struct {
	Targets *target.Registry
	Hub     string // identity of this hub
	Log     *slog.Logger
}

// SetupWorkloads adds the controller that deactivates Workloads to a manager.
func SetupWorkloads(mgr ctrl.Manager, o Options) error {
	r := newWorkloadReconciler(mgr.GetClient(), o, clock.RealClock{})
	return ctrl.NewControllerManagedBy(mgr).Named("bflow-too-big").
		WatchesRawSource(o.Targets.OnChange(watch.Debounce(debounce, watch.Itself))).
		Watches(&kueue.ClusterQueue{}, watch.Debounce(debounce, watch.Itself),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&kueue.Workload{}, watch.Debounce(debounce, r.queueOf), builder.WithPredicates(beginsToWait())).
		WithOptions(controller.Options{RateLimiter: watch.Backoff()}).
		Complete(r)
}

func newWorkloadReconciler(c client.Client, o Options, clk clock.PassiveClock) *WorkloadReconciler {
	return &WorkloadReconciler{client: c, targets: o.Targets, hub: o.Hub, clock: clk, log: o.Log,
		lacking: map[string]map[types.UID]time.Time{}}
}

// beginsToWait passes the moments at which a Workload begins to wait.
func beginsToWait() predicate.Predicate {
	waiting := func(obj client.Object) bool {
		wl, ok := obj.(*kueue.Workload)
		return ok && isWithoutQuota(wl)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return waiting(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return waiting(e.ObjectNew) && (!waiting(e.ObjectOld) || e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration())
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// queueOf is the ClusterQueue that a Workload waits in.
func (r *WorkloadReconciler) queueOf(ctx context.Context, o client.Object) []reconcile.Request {
	wl, ok := o.(*kueue.Workload)
	if !ok {
		return nil
	}
	local := &kueue.LocalQueue{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)},
		local); err != nil {
		return watch.ByName(string(wl.Spec.QueueName)) // bootstrap names both alike
	}
	return watch.ByName(string(local.Spec.ClusterQueue))
}
