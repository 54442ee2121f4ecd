package aside

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

// gather is how long changes are gathered: a node that comes or goes takes many pods with it.
const gather = time.Second

// Options are what the controller depends on.
type Options struct {
	Targets *target.Registry
	Hub     string // identity of this hub
	Log     *slog.Logger
}

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, o Options) error {
	r := newReconciler(mgr.GetClient(), o, clock.RealClock{})
	return ctrl.NewControllerManagedBy(mgr).Named("bflow-aside").
		WatchesRawSource(o.Targets.OnChange(watch.Debounce(gather, watch.Itself))).
		Watches(&kueue.ClusterQueue{}, watch.Debounce(gather, watch.Itself), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&kueue.Workload{}, watch.Debounce(gather, r.queueOf), builder.WithPredicates(comes())).
		WithOptions(controller.Options{RateLimiter: watch.Backoff()}).
		Complete(r)
}

func newReconciler(c client.Client, o Options, clk clock.PassiveClock) *Reconciler {
	return &Reconciler{client: c, targets: o.Targets, hub: o.Hub, clock: clk, log: o.Log, lacking: map[string]map[types.UID]time.Time{}}
}

// comes passes the moments at which a Workload begins to wait.
func comes() predicate.Predicate {
	waiting := func(obj client.Object) bool {
		wl, ok := obj.(*kueue.Workload)
		return ok && waits(wl)
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
func (r *Reconciler) queueOf(ctx context.Context, o client.Object) []reconcile.Request {
	wl, ok := o.(*kueue.Workload)
	if !ok {
		return nil
	}
	local := &kueue.LocalQueue{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}, local); err != nil {
		return watch.ByName(string(wl.Spec.QueueName)) // bootstrap names both alike
	}
	return watch.ByName(string(local.Spec.ClusterQueue))
}
