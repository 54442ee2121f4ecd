package release

import (
	"context"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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

// atOnce is how many runs, or targets, are looked after at a time. Each waits for a dozen answers, and some for a
// target that is slow to give them: there are workers for the runs of many such targets, and of others beside them.
const atOnce = 16 * perTarget

// Setup registers the reconcilers and the watches: of runs, of their tasks, and of every pod that belongs to
// a run, on its way to the end or on the target.
func Setup(ctx context.Context, mgr ctrl.Manager, opts Options) error {
	r := NewReconciler(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder("bflow-release"), opts)
	err := ctrl.NewControllerManagedBy(mgr).Named("release").
		For(&tektonv1.PipelineRun{}).
		Watches(&tektonv1.TaskRun{}, handler.EnqueueRequestsFromMapFunc(ofTask)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.ofPod), builder.WithPredicates(endedPods())).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(watch.RunsOf(r.client)),
			builder.WithPredicates(watch.Enabled())).
		WatchesRawSource(opts.Targets.OnChange(handler.EnqueueRequestsFromMapFunc(r.ofTarget))).
		WatchesRawSource(r.lanes.source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: atOnce, RateLimiter: watch.Backoff()}).
		Complete(r)
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("dirty-targets").
		For(&kueue.ResourceFlavor{}).
		WatchesRawSource(opts.Targets.OnChange(handler.EnqueueRequestsFromMapFunc(flavorOf))).
		WithOptions(controller.Options{MaxConcurrentReconciles: atOnce, RateLimiter: watch.Backoff()}).
		Complete(NewSweeper(mgr.GetClient(), mgr.GetAPIReader(), opts))
}

func ofTask(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[pipeline.PipelineRunLabelKey]
	if name == "" {
		name = o.GetAnnotations()[AnnotationFinishes]
	}
	return request(o.GetNamespace(), name)
}

// ofPod is the run of a task pod, or all attempts of the run of a pod on the target.
func (r *Reconciler) ofPod(ctx context.Context, o client.Object) []reconcile.Request {
	if name := o.GetLabels()[pipeline.PipelineRunLabelKey]; name != "" {
		return request(o.GetNamespace(), name)
	}
	var runs tektonv1.PipelineRunList
	err := r.client.List(ctx, &runs, client.InNamespace(o.GetNamespace()),
		client.MatchingFields{run.IndexID: o.GetLabels()[contract.LabelRun]})
	if err != nil { // the run is looked at again anyway
		return nil
	}
	var requests []reconcile.Request
	for _, pr := range runs.Items {
		requests = append(requests, request(pr.Namespace, pr.Name)...)
	}
	return requests
}

// ofTarget are the runs whose pods on a remote target may have gone: no watch of the hub tells of those.
func (r *Reconciler) ofTarget(ctx context.Context, o client.Object) []reconcile.Request {
	if o.GetName() == contract.TargetLocal {
		return nil
	}
	var runs tektonv1.PipelineRunList
	if err := r.client.List(ctx, &runs, client.UnsafeDisableDeepCopy); err != nil { // each is looked at again anyway
		return nil
	}
	var requests []reconcile.Request
	for i := range runs.Items {
		pr := &runs.Items[i]
		if run.Ours(pr) && run.Target(pr) == o.GetName() && run.Holding(pr) && (run.Over(pr) || !run.Freed(pr)) {
			requests = append(requests, request(pr.Namespace, pr.Name)...)
		}
	}
	return requests
}

// flavorOf is the flavor of a target, which has its name.
func flavorOf(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: o.GetName()}}}
}

func request(namespace, name string) []reconcile.Request {
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// endedPods lets pass the end of pods that belong to a run: nothing else about them brings a run nearer to its release.
func endedPods() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			pod, ok := e.ObjectNew.(*corev1.Pod)
			return ok && run.Ours(pod) && ended(pod)
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return run.Ours(e.Object) },
	}
}
