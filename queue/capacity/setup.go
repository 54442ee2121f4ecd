package capacity

import (
	"context"
	"time"

	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
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

// Options are what the controller depends on.
type Options struct {
	Targets *target.Registry
	Hub     string           // identity of this hub; "" = every pod with the label of a run is one of ours
	Metrics *metrics.Metrics // nil = nothing is measured
	Gather  time.Duration    // how long changes are gathered before they are counted; 0 = a second
}

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, o Options) error {
	if o.Gather == 0 {
		o.Gather = time.Second
	}
	r := &Reconciler{client: mgr.GetClient(), targets: o.Targets, hub: o.Hub, metrics: o.Metrics}
	itself := func(o client.Object) string { return o.GetName() }
	ofRun := func(o client.Object) string { return run.Target(o) }
	return ctrl.NewControllerManagedBy(mgr).Named("bflow-capacity").
		WatchesRawSource(source.Channel(o.Targets.Changes(), gather(o.Gather, itself))).
		Watches(&kueue.ClusterQueue{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, obj client.Object) []reconcile.Request {
			return []reconcile.Request{request(obj.GetName())}
		}), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&tektonv1.PipelineRun{}, gather(o.Gather, ofRun), builder.WithPredicates(holderChanged())).
		Complete(r)
}

// gather asks for the target of an object after a while: a node that fails takes many pods with it, and one count is
// enough.
func gather(d time.Duration, target func(client.Object) string) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { q.AddAfter(request(target(e.Object)), d) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			q.AddAfter(request(target(e.ObjectNew)), d)
		},
		DeleteFunc:  func(_ context.Context, e event.DeleteEvent, q queue) { q.AddAfter(request(target(e.Object)), d) },
		GenericFunc: func(_ context.Context, e event.GenericEvent, q queue) { q.AddAfter(request(target(e.Object)), d) },
	}
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// holderChanged passes the moments at which pods of a run become ours, or foreign.
func holderChanged() predicate.Predicate {
	holds := func(obj client.Object) bool {
		pr, ok := obj.(*tektonv1.PipelineRun)
		return ok && run.Ours(pr) && run.Holding(pr) && !run.Freed(pr)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return holds(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return holds(e.ObjectOld) != holds(e.ObjectNew) },
		DeleteFunc: func(e event.DeleteEvent) bool { return holds(e.Object) },
	}
}
