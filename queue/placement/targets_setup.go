package placement

import (
	"context"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/queue/watch"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
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

// SetupTargets adds the controller that chooses targets to a manager.
func SetupTargets(mgr ctrl.Manager, targets *target.Registry, hub string) error {
	r := NewTargetReconciler(mgr.GetClient(), mgr.GetEventRecorder("bflow-choose"), targets, hub, clock.RealClock{})
	all := watch.Debounce(debounce,
		func(context.Context, client.Object) []reconcile.Request { return watch.ByName("all") })
	return ctrl.NewControllerManagedBy(mgr).Named("bflow-choose").
		WatchesRawSource(targets.OnChange(all)).
		Watches(&tektonv1.PipelineRun{}, all, builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool {
			pr, ok := o.(*tektonv1.PipelineRun)
			return ok && run.Several(pr) && pr.IsPending()
		}))).
		Watches(&kueue.Workload{}, all, builder.WithPredicates(quotaChanged())).
		Watches(&corev1.Namespace{}, all, builder.WithPredicates(watch.Enabled())).
		WithOptions(controller.Options{RateLimiter: watch.Backoff()}).
		Complete(r)
}

// quotaChanged passes the moments at which a Workload gets its quota, loses it, or goes.
func quotaChanged() predicate.Predicate {
	holds := func(o client.Object) bool {
		wl, ok := o.(*kueue.Workload)
		return ok && hasQuota(wl)
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return true },
		UpdateFunc: func(e event.UpdateEvent) bool { return holds(e.ObjectOld) != holds(e.ObjectNew) },
		DeleteFunc: func(event.DeleteEvent) bool { return true },
	}
}
