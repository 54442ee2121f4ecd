package capacity

import (
	"context"
	"log/slog"
	"time"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/queue/watch"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
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

// Options are what the controller of quotas depends on.
type Options struct {
	Targets  *target.Registry
	Hub      string           // identity of this hub; "" = every pod with the label of a run is one of ours
	Metrics  *metrics.Metrics // nil = nothing is measured
	Log      *slog.Logger     // gets the history of quotas; nil = nobody
	Debounce time.Duration    // how long changes are gathered before they are counted; 0 = a second
}

// SetupQuota adds the controller that writes quotas to a manager.
func SetupQuota(mgr ctrl.Manager, o Options) error {
	if o.Debounce == 0 {
		o.Debounce = time.Second
	}
	r := &QuotaReconciler{client: mgr.GetClient(), targets: o.Targets, hub: o.Hub, metrics: o.Metrics, log: o.Log,
		recorded: map[string]devices.Amounts{}}
	ofRun := func(_ context.Context, o client.Object) []reconcile.Request { return watch.ByName(run.Target(o)) }
	return ctrl.NewControllerManagedBy(mgr).Named("bflow-capacity").
		WatchesRawSource(o.Targets.OnChange(watch.Debounce(o.Debounce, watch.Itself))).
		Watches(&kueue.ClusterQueue{}, handler.EnqueueRequestsFromMapFunc(watch.Itself),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&tektonv1.PipelineRun{}, watch.Debounce(o.Debounce, ofRun), builder.WithPredicates(HolderChanged())).
		WithOptions(controller.Options{RateLimiter: watch.Backoff()}).
		Complete(r)
}

// HolderChanged passes the moments at which pods of a run become ours, or foreign.
func HolderChanged() predicate.Predicate {
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
