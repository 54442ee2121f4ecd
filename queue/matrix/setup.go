package matrix

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Index finds the runs of a matrix by the name of its CustomRun.
const Index = "bflow-matrix"

// debounce is how long changes of runs are gathered before their matrix is looked at: many of them change together.
const debounce = 300 * time.Millisecond

// Watch makes a cache of matrices: of CustomRuns, and of the PipelineRuns that they stand in.
func Watch(mgr ctrl.Manager) (cache.Cache, error) {
	matrices, err := watch.NewCache(mgr, labels.Set{contract.LabelRole: contract.RoleMatrix})
	if err != nil {
		return nil, fmt.Errorf("watching matrices: %w", err)
	}
	return matrices, nil
}

// Setup registers the reconciler, the index and the watches: of CustomRuns and their parents, from a cache of
// matrices, and of the runs that they own.
func Setup(ctx context.Context, mgr ctrl.Manager, matrices cache.Cache, compiler Compiler, log *slog.Logger) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &tektonv1.PipelineRun{}, Index, IndexOf); err != nil {
		return fmt.Errorf("indexing runs by their matrix: %w", err)
	}
	r := NewReconciler(mgr.GetClient(), mgr.GetAPIReader(), compiler, mgr.GetEventRecorder("bflow-matrix"),
		clock.RealClock{}, log)
	return ctrl.NewControllerManagedBy(mgr).Named("matrix").
		Watches(&tektonv1.PipelineRun{}, watch.Debounce(debounce, Of)).
		WatchesRawSource(source.Kind(matrices, &tektonv1beta1.CustomRun{},
			&handler.TypedEnqueueRequestForObject[*tektonv1beta1.CustomRun]{})).
		WatchesRawSource(source.Kind(matrices, &tektonv1.PipelineRun{}, handler.TypedEnqueueRequestsFromMapFunc(endingIn))).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(
			watch.ObjectsOf(matrices, &tektonv1beta1.CustomRunList{})), builder.WithPredicates(watch.Enabled())).
		// one matrix does not wait for another
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: watch.Backoff(),
			CacheSyncTimeout: watch.CacheSyncTimeout}).
		Complete(r)
}

// endingIn asks for the matrix that stands in a parent which somebody ends.
func endingIn(_ context.Context, parent *tektonv1.PipelineRun) (out []reconcile.Request) {
	if !parentEnding(parent) {
		return nil
	}
	for _, child := range parent.Status.ChildReferences {
		if child.Kind == kind {
			out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: parent.Namespace,
				Name: child.Name}})
		}
	}
	return out
}

// IndexOf are the values of Index.
func IndexOf(o client.Object) []string {
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil && owner.Kind == kind {
		return []string{owner.Name}
	}
	return nil
}

// Of asks for the matrix of a run.
func Of(_ context.Context, o client.Object) (out []reconcile.Request) {
	for _, name := range IndexOf(o) {
		out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}})
	}
	return out
}

// runs are those that the CustomRun of a name owns or has owned, from the cache, shared: they must not be changed.
func (r *Reconciler) runs(ctx context.Context, key types.NamespacedName) ([]tektonv1.PipelineRun, error) {
	var all tektonv1.PipelineRunList
	err := r.client.List(ctx, &all, client.InNamespace(key.Namespace), client.MatchingFields{Index: key.Name},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing the runs of matrix %q: %w", key.Name, err)
	}
	return all.Items, nil
}

// liveRuns are those of a matrix, past the cache.
func (r *Reconciler) liveRuns(ctx context.Context, cr *tektonv1beta1.CustomRun) ([]tektonv1.PipelineRun, error) {
	var all tektonv1.PipelineRunList
	if err := r.live.List(ctx, &all, client.InNamespace(cr.Namespace),
		client.MatchingLabels{contract.LabelMatrix: nameOf(cr)}); err != nil {
		return nil, fmt.Errorf("listing its runs: %w", err)
	}
	mine, _ := of(cr, all.Items)
	return mine, nil
}
