package retention

import (
	"context"
	"log/slog"
	"time"

	"bflow.dev/bflow/queue/matrix"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/watch"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// debounce is how long changes of the runs of a matrix are gathered before it is looked at.
const debounce = 2 * time.Second

// Setup adds the controllers of runs and of matrices to a manager. matrices is a cache of CustomRuns.
func Setup(mgr ctrl.Manager, matrices cache.Cache, keep Keep, log *slog.Logger) error {
	r := NewReconciler(mgr.GetClient(), mgr.GetAPIReader(), keep, clock.RealClock{}, log)
	err := ctrl.NewControllerManagedBy(mgr).Named("retention-matrix").
		Watches(&tektonv1.PipelineRun{}, watch.Debounce(debounce, matrix.Of), builder.WithPredicates(atItsEnd())).
		WatchesRawSource(source.Kind(matrices, &tektonv1beta1.CustomRun{}, handler.TypedEnqueueRequestsFromMapFunc(done))).
		WatchesRawSource(source.Kind(matrices, &tektonv1.PipelineRun{}, handler.TypedEnqueueRequestsFromMapFunc(matrixIn))).
		WithOptions(controller.Options{RateLimiter: watch.Backoff(), CacheSyncTimeout: watch.CacheSyncTimeout}).
		Complete(NewMatrices(r))
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("retention").
		Watches(&tektonv1.PipelineRun{}, handler.EnqueueRequestsFromMapFunc(byRun), builder.WithPredicates(atItsEnd())).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(watch.RunsOf(r.client)),
			builder.WithPredicates(watch.Enabled())).
		WithOptions(controller.Options{RateLimiter: watch.Backoff()}).
		Complete(r)
}

// done asks for a matrix whose runs have all ended.
func done(_ context.Context, cr *tektonv1beta1.CustomRun) []reconcile.Request {
	if !cr.IsDone() {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(cr)}}
}

// matrixIn asks for the matrix that stands in a parent which has ended.
func matrixIn(_ context.Context, parent *tektonv1.PipelineRun) (out []reconcile.Request) {
	if !parent.IsDone() {
		return nil
	}
	for _, child := range parent.Status.ChildReferences {
		if child.Kind == "CustomRun" {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: parent.Namespace, Name: child.Name}})
		}
	}
	return out
}

// byRun asks for the run of an attempt.
func byRun(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: run.Key(o)}}
}

// atItsEnd lets pass attempts that may be at their end: of those that wait or run nothing has had its time.
func atItsEnd() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool {
		pr, ok := o.(*tektonv1.PipelineRun)
		return ok && run.Ours(pr) && pr.IsDone() && !run.Holding(pr)
	})
}
