package placement

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// conflictRetryDelay is when a change that met another one is tried again.
const conflictRetryDelay = 200 * time.Millisecond

// TaskReconciler ends runs whose task pods are unschedulable.
type TaskReconciler struct {
	client client.Client
	events events.EventRecorder
	clock  clock.PassiveClock
	log    *slog.Logger
}

var _ reconcile.Reconciler = (*TaskReconciler)(nil)

// NewTaskReconciler makes the reconciler of tasks.
func NewTaskReconciler(c client.Client, recorder events.EventRecorder, clk clock.PassiveClock,
	log *slog.Logger) *TaskReconciler {
	return &TaskReconciler{client: c, events: recorder, clock: clk, log: log}
}

// SetupTasks adds the controller that ends runs for their tasks to a manager.
func SetupTasks(mgr ctrl.Manager, log *slog.Logger) error {
	r := NewTaskReconciler(mgr.GetClient(), mgr.GetEventRecorder("bflow-unschedulable"), clock.RealClock{}, log)
	return ctrl.NewControllerManagedBy(mgr).Named("unschedulable").
		For(&tektonv1.TaskRun{}).
		WithOptions(controller.Options{RateLimiter: watch.Backoff()}).
		Complete(r)
}

// Reconcile looks at one task.
func (r *TaskReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	task := &tektonv1.TaskRun{}
	if err := r.client.Get(ctx, req.NamespacedName, task); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	why := unschedulable(task)
	of := task.Labels[pipeline.PipelineRunLabelKey]
	if why == "" || of == "" || !run.Ours(task) || task.IsCancelled() { // a finish of the controller's own has its time
		return ctrl.Result{}, nil
	}
	since, err := r.since(ctx, task)
	if err != nil {
		return ctrl.Result{}, err
	}
	if left := UnschedulableLimit - r.clock.Since(since); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	pr := &tektonv1.PipelineRun{}
	err = r.client.Get(ctx, client.ObjectKey{Namespace: req.Namespace, Name: of}, pr)
	if err != nil || pr.IsDone() || !pr.DeletionTimestamp.IsZero() { // a run that ends is released in any case
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := r.end(ctx, pr, task, why); err != nil && !apierrors.IsConflict(err) {
		return ctrl.Result{}, fmt.Errorf("ending run %q, whose task %q has no place: %w", pr.Name, taskName(task), err)
	} else if err != nil {
		return ctrl.Result{RequeueAfter: conflictRetryDelay}, nil
	}
	return ctrl.Result{}, nil
}

// since is when the task began to wait for a place: when its pod was made. Tekton makes another one for a task that it
// tries again, and for one whose pod was lost. Where it may make none, it tries since it has started the task, or the
// next try of it.
func (r *TaskReconciler) since(ctx context.Context, task *tektonv1.TaskRun) (time.Time, error) {
	if task.Status.PodName != "" {
		pod := &corev1.Pod{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: task.Namespace, Name: task.Status.PodName}, pod)
		if client.IgnoreNotFound(err) != nil {
			return time.Time{}, fmt.Errorf("reading the pod of task %q: %w", task.Name, err)
		}
		if err == nil {
			return pod.CreationTimestamp.Time, nil
		}
	}
	since := task.CreationTimestamp.Time
	if started := task.Status.StartTime; started != nil && started.After(since) {
		since = started.Time
	}
	return since, nil
}

// end lets a run come to its last task. Where that is what waits, it is ended too: the controller tears down itself.
func (r *TaskReconciler) end(ctx context.Context, pr *tektonv1.PipelineRun, task *tektonv1.TaskRun, why string) error {
	text := fmt.Sprintf("task %q had no place for %s: %s", taskName(task), UnschedulableLimit, why)
	switch {
	case isLast(pr, task):
		before := client.MergeFrom(task.DeepCopy())
		task.Spec.Status, task.Spec.StatusMessage = tektonv1.TaskRunSpecStatusCancelled,
			tektonv1.TaskRunSpecStatusMessage("Ended by bflow-controller: "+text)
		if err := client.IgnoreNotFound(r.client.Patch(ctx, task, before)); err != nil {
			return err
		}
	case pr.IsCancelled() || pr.IsGracefullyCancelled(): // Tekton ends it
		return nil
	default:
		before := client.MergeFromWithOptions(pr.DeepCopy(), client.MergeFromWithOptimisticLock{})
		annotations := maps.Clone(pr.Annotations)
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[run.AnnotationStopped] = run.CauseUnschedulable + ": " + text
		pr.Annotations, pr.Spec.Status = annotations, tektonv1.PipelineRunSpecStatusCancelledRunFinally
		if err := client.IgnoreNotFound(r.client.Patch(ctx, pr, before)); err != nil {
			return err
		}
	}
	r.log.Warn("run ended for a task without a place", "namespace", pr.Namespace, "run", run.ID(pr), "attempt",
		run.Attempt(pr), "task", taskName(task), "why", why)
	r.events.Eventf(pr, nil, corev1.EventTypeWarning, "NoPlace", "End", "Ended, because %s", text)
	return nil
}

// isLast says whether the task is one of those that run whatever happened before.
func isLast(pr *tektonv1.PipelineRun, task *tektonv1.TaskRun) bool {
	return taskName(task) == contract.Finish || pr.Status.FinallyStartTime != nil
}
