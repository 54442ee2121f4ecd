package token

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// conflictRetryDelay is when a change that met another one is tried again.
const conflictRetryDelay = 200 * time.Millisecond

// Reconciler looks after the tokens of tasks.
type Reconciler struct {
	client client.Client // writes
	cached client.Reader // of tasks that ask for a token
	live   client.Reader
	events events.EventRecorder
	clock  clock.PassiveClock
	log    *slog.Logger
}

var _ reconcile.Reconciler = (*Reconciler)(nil)

// NewReconciler makes the reconciler of tasks that ask for a token, which cached holds; live reads past it.
func NewReconciler(c client.Client, cached, live client.Reader, recorder events.EventRecorder, clk clock.PassiveClock,
	log *slog.Logger) *Reconciler {
	return &Reconciler{client: c, cached: cached, live: live, events: recorder, clock: clk, log: log}
}

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, log *slog.Logger) error {
	tasks, err := watch.NewCache(mgr, labels.Set{contract.LabelToken: contract.TokenSubmit})
	if err != nil {
		return fmt.Errorf("watching the tasks that ask for a token: %w", err)
	}
	recorder := mgr.GetEventRecorder("bflow-token")
	r := NewReconciler(mgr.GetClient(), tasks, mgr.GetAPIReader(), recorder, clock.RealClock{}, log)
	return ctrl.NewControllerManagedBy(mgr).Named("token").
		WatchesRawSource(source.Kind(tasks, &tektonv1.TaskRun{}, &handler.TypedEnqueueRequestForObject[*tektonv1.TaskRun]{})).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(watch.ObjectsOf(tasks, &tektonv1.TaskRunList{})),
			builder.WithPredicates(watch.Enabled())).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: watch.Backoff()}).
		Complete(r)
}

// Reconcile looks after one task. What belongs to a task that is deleted goes with it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if ours, err := watch.IsRunNamespace(ctx, r.client, req.Namespace); err != nil || !ours {
		return ctrl.Result{}, err
	}
	task := &tektonv1.TaskRun{}
	if err := r.cached.Get(ctx, req.NamespacedName, task); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if after, due := r.due(task); !due {
		return ctrl.Result{RequeueAfter: after}, nil
	}
	// A cache that is behind would have the tokens of a running task bound anew, which ends those it has.
	fresh := &tektonv1.TaskRun{}
	if err := r.live.Get(ctx, req.NamespacedName, fresh); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	after, due := r.due(fresh)
	if !due {
		return ctrl.Result{RequeueAfter: after}, nil
	}
	err := r.serve(ctx, fresh)
	gone := apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	switch {
	case gone:
		return ctrl.Result{}, nil
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: conflictRetryDelay}, nil
	case err != nil && fresh.IsDone():
		return ctrl.Result{}, fmt.Errorf("ending the token of task %q: %w", fresh.Name, err)
	case err != nil:
		err = fmt.Errorf("giving task %q a token of account %s: %w; bflow bootstrap makes the account and repairs the rights",
			fresh.Name, contract.AccountSubmit, err)
		r.events.Eventf(fresh, nil, corev1.EventTypeWarning, "NoToken", "Token", "Its pod waits: %v", err)
		return ctrl.Result{}, err
	}
	after, _ = r.due(fresh)
	return ctrl.Result{RequeueAfter: after}, nil
}

// due says whether there is something to do for a task, or after what time there will be; zero for never.
func (r *Reconciler) due(task *tektonv1.TaskRun) (after time.Duration, now bool) {
	switch {
	case !asks(task) || !task.DeletionTimestamp.IsZero():
		return 0, false
	case !task.IsDone():
		after = renewal(task).Sub(r.clock.Now())
	case bond(task) == "":
		return 0, false
	case !task.IsSuccessful() && task.Status.CompletionTime != nil:
		after = RevokeGracePeriod - r.clock.Since(task.Status.CompletionTime.Time)
	}
	return max(after, 0), after <= 0
}

// serve does what is due.
func (r *Reconciler) serve(ctx context.Context, task *tektonv1.TaskRun) error {
	if task.IsDone() {
		return r.take(ctx, task)
	}
	if bond(task) == "" {
		if err := r.bind(ctx, task); err != nil {
			return err
		}
	}
	if err := r.give(ctx, task); err != nil {
		return err
	}
	r.log.Debug("a task has a token", "namespace", task.Namespace, "task", task.Name, "renew", renewal(task))
	return nil
}
