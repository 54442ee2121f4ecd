package access

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	credentialsPollInterval = time.Second      // for credentials that are being made
	credentialsRetryDelay   = 30 * time.Second // for a target that gave none
)

// Reconciler renews the Secrets of runs that go on for longer than their tokens.
type Reconciler struct {
	client client.Reader
	keeper *Keeper
	clock  clock.PassiveClock
}

var _ reconcile.Reconciler = (*Reconciler)(nil)

// NewReconciler makes the reconciler of PipelineRuns.
func NewReconciler(c client.Reader, keeper *Keeper, clk clock.PassiveClock) *Reconciler {
	return &Reconciler{client: c, keeper: keeper, clock: clk}
}

// Setup registers it.
func Setup(mgr ctrl.Manager, keeper *Keeper) error {
	r := NewReconciler(mgr.GetClient(), keeper, clock.RealClock{})
	return ctrl.NewControllerManagedBy(mgr).Named("bflow-access").
		For(&tektonv1.PipelineRun{}, builder.WithPredicates(predicate.Or(Holding(), ends()))).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(watch.RunsOf(r.client)),
			builder.WithPredicates(watch.Enabled())).
		WatchesRawSource(keeper.targets.OnRenewal(handler.EnqueueRequestsFromMapFunc(r.runsAt))).
		WithOptions(controller.Options{RateLimiter: watch.Backoff()}).
		Complete(r)
}

// runsAt are the runs that hold something of a target, which is what obj is named like.
func (r *Reconciler) runsAt(ctx context.Context, obj client.Object) []reconcile.Request {
	var runs tektonv1.PipelineRunList
	if err := r.client.List(ctx, &runs, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing runs")
		return nil
	}
	var out []reconcile.Request
	for i := range runs.Items {
		if pr := &runs.Items[i]; run.Ours(pr) && run.Holding(pr) && run.Target(pr) == obj.GetName() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(pr)})
		}
	}
	return out
}

// Holding passes the moments at which a run of ours begins or ceases to need what lies beside it.
func Holding() predicate.Predicate {
	needs := func(o client.Object) bool {
		pr, ok := o.(*tektonv1.PipelineRun)
		return ok && run.Ours(pr) && run.Holding(pr)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return needs(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return needs(e.ObjectOld) != needs(e.ObjectNew) },
		DeleteFunc: func(e event.DeleteEvent) bool { return false }, // it was released before
	}
}

// ends passes the end of a run of ours, also of one that was never let start: its access may have been written already,
// by a controller before this one too.
func ends() predicate.Predicate {
	over := func(o client.Object) bool {
		pr, ok := o.(*tektonv1.PipelineRun)
		return ok && run.Ours(pr) && run.Over(pr)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			pr, ok := e.Object.(*tektonv1.PipelineRun)
			return ok && over(pr) && !run.Started(pr)
		},
		UpdateFunc: func(e event.UpdateEvent) bool { return over(e.ObjectOld) != over(e.ObjectNew) },
		DeleteFunc: func(e event.DeleteEvent) bool { return run.Ours(e.Object) },
	}
}

// Reconcile looks after the access of one run.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pr := &tektonv1.PipelineRun{}
	err := r.client.Get(ctx, req.NamespacedName, pr)
	if apierrors.IsNotFound(err) {
		return takenBack(ctx, req.Name, r.keeper.Revoke(ctx, req.NamespacedName))
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	name := run.Target(pr)
	switch {
	case !run.Ours(pr):
		return ctrl.Result{}, nil
	case run.Over(pr) && !run.Started(pr):
		return takenBack(ctx, req.Name, r.keeper.Drop(ctx, pr))
	case !run.Holding(pr):
		if run.Released(pr) {
			if err := r.keeper.sweep(ctx, pr); err != nil {
				return ctrl.Result{}, fmt.Errorf("taking access to target %q from run %q: %w", name, pr.Name, err)
			}
		}
		r.keeper.Forget(name, pr.UID)
		return ctrl.Result{}, nil
	case run.Queue(pr) == "" || name == contract.TargetLocal: // access to the hub never ends
		return ctrl.Result{}, nil
	}
	return r.renew(ctx, name, pr)
}

// takenBack says when to take back again what a run was given that will never need it, after an attempt that ended with
// err. A token that is being made is waited for.
func takenBack(ctx context.Context, name string, err error) (ctrl.Result, error) {
	switch {
	case errors.Is(err, target.ErrNotYet):
		return ctrl.Result{RequeueAfter: credentialsPollInterval}, nil
	case err != nil:
		ctrl.LoggerFrom(ctx).Info("the access of a run that was not started could not be revoked", "run", name, "why",
			err.Error())
		return ctrl.Result{RequeueAfter: credentialsRetryDelay}, nil
	}
	return ctrl.Result{}, nil
}

// renew writes what has changed. A controller that has started again does not know what lies there, and writes it anew.
func (r *Reconciler) renew(ctx context.Context, name string, pr *tektonv1.PipelineRun) (ctrl.Result, error) {
	ends, err := r.keeper.Put(ctx, name, pr)
	switch {
	case errors.Is(err, target.ErrNotYet):
		return ctrl.Result{RequeueAfter: credentialsPollInterval}, nil
	case errors.Is(err, errOver):
		return ctrl.Result{}, nil
	case err != nil: // what lies there is valid for a while
		ctrl.LoggerFrom(ctx).Info("the credentials of a run could not be renewed", "run", run.ID(pr), "target", name, "why",
			err.Error())
		return ctrl.Result{RequeueAfter: credentialsRetryDelay}, nil
	case ends.IsZero():
		return ctrl.Result{}, nil
	}
	// Access makes another one once half of it is over.
	return ctrl.Result{RequeueAfter: max(credentialsPollInterval, ends.Sub(r.clock.Now())/2)}, nil
}
