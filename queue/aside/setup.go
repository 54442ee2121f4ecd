package aside

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"bflow.dev/bflow/queue/devices/view"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// gather is how long changes are gathered: a node that comes or goes takes many pods with it.
const gather = time.Second

// Options are what the controller depends on.
type Options struct {
	Targets []*view.Target // Setup does not start them: they are shared
	Hub     string         // identity of this hub
	Log     *slog.Logger
}

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, o Options) error {
	r := newReconciler(mgr.GetClient(), o, clock.RealClock{})
	controller := ctrl.NewControllerManagedBy(mgr).Named("bflow-aside")
	for _, t := range o.Targets {
		r.targets[t.Name] = t
		controller.WatchesRawSource(source.Channel(t.Changes(), after(t.Name)))
	}
	all := after(slices.Sorted(maps.Keys(r.targets))...)
	return controller.
		Watches(&kueue.ClusterQueue{}, all, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&kueue.Workload{}, all, builder.WithPredicates(comes())).
		Complete(r)
}

func newReconciler(c client.Client, o Options, clk clock.PassiveClock) *Reconciler {
	return &Reconciler{client: c, targets: map[string]sighted{}, hub: o.Hub, clock: clk, log: o.Log, lacking: map[string]map[types.UID]time.Time{}}
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

// after asks for targets a moment after a change.
func after(targets ...string) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(q queue) {
		for _, name := range targets {
			q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}, gather)
		}
	}
	return handler.Funcs{
		CreateFunc:  func(_ context.Context, _ event.CreateEvent, q queue) { add(q) },
		UpdateFunc:  func(_ context.Context, _ event.UpdateEvent, q queue) { add(q) },
		DeleteFunc:  func(_ context.Context, _ event.DeleteEvent, q queue) { add(q) },
		GenericFunc: func(_ context.Context, _ event.GenericEvent, q queue) { add(q) },
	}
}
