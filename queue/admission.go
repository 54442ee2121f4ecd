package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"bflow.dev/bflow/queue/access"
	"bflow.dev/bflow/queue/lock/history"
	"bflow.dev/bflow/queue/lock/keeper"
	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
)

const (
	// for credentials that are being made: a target that is near answers by then
	accessPollInterval   = 20 * time.Millisecond
	conflictRetryDelay   = 200 * time.Millisecond // for a change that met another one
	blockedRetryInterval = 10 * time.Second       // for a run whose account or credentials are missing
	refusedRetryInterval = 10 * time.Minute       // for a run whose every change the API server refuses

	parallel = 32 // runs worked on at a time: each only waits for the API server
)

// Options of the admission of runs.
type Options struct {
	Targets *target.Registry
	Access  *access.Keeper // nil = one of its own
	Metrics *metrics.Metrics
	Log     *slog.Logger
	Clock   clock.Clock
	Live    client.Reader // past the cache; nil = the client
	Gate    Gate          // nil = every admitted run may start
	Locks   Locks         // nil = runs need no lock
	Hub     string        // identity of this hub, for the history of locks
	// a Kueue that manages pods is installed: runs carry no queue label, and their Workloads are made here
	Prebuilt bool
}

// Admission queues runs and lets them start.
type Admission struct {
	client  client.Client
	events  events.EventRecorder
	jobs    *jobframework.JobReconciler
	starter *starter
	opts    Options
	line    *line
	failed  failedStarts
}

// NewAdmission makes the reconciler of PipelineRuns for Kueue.
func NewAdmission(c client.Client, recorder events.EventRecorder, opts Options) *Admission {
	if opts.Access == nil {
		opts.Access = access.NewKeeper(c, opts.Targets)
	}
	if opts.Live == nil {
		opts.Live = c
	}
	return &Admission{
		client:  c,
		events:  recorder,
		jobs:    jobframework.NewReconciler(c, quiet{recorder}, frameworkOptions(opts)...),
		starter: &starter{access: opts.Access, gate: opts.Gate, locks: opts.Locks, clock: opts.Clock},
		opts:    opts,
		line:    newLine(),
	}
}

// SetupAdmission registers the reconciler and the index it needs.
func SetupAdmission(ctx context.Context, mgr ctrl.Manager, opts Options) error {
	if err := jobframework.SetupWorkloadOwnerIndex(ctx, mgr.GetFieldIndexer(), gvk()); err != nil {
		return fmt.Errorf("indexing Workloads by their PipelineRun: %w", err)
	}
	a := NewAdmission(mgr.GetClient(), mgr.GetEventRecorder("bflow-queue"), opts)
	for _, part := range []struct {
		name       string
		runs       handler.EventHandler
		namespaces handler.EventHandler
		workers    int
		do         reconcile.Func
	}{
		{"intake", oldestFirst{a.line}, oldestFirst{a.line}.in(a.client), 1, a.Enter}, // more would mix up the order of runs
		{"admission", &handler.EnqueueRequestForObject{}, handler.EnqueueRequestsFromMapFunc(watch.RunsOf(a.client)),
			parallel, a.Go},
	} {
		err := ctrl.NewControllerManagedBy(mgr).Named(part.name).
			Watches(&tektonv1.PipelineRun{}, part.runs).
			Watches(&kueue.Workload{}, handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(),
				&tektonv1.PipelineRun{})).
			Watches(&corev1.Namespace{}, part.namespaces, builder.WithPredicates(watch.Enabled())).
			WithOptions(controller.Options{MaxConcurrentReconciles: part.workers, RateLimiter: watch.Backoff()}).
			Complete(part.do)
		if err != nil {
			return err
		}
	}
	return nil
}

// Enter brings a run that has no place in its queue there, one after the other.
func (a *Admission) Enter(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return a.reconcile(ctx, req, true)
}

// Go brings any other run and its Workload together.
func (a *Admission) Go(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return a.reconcile(ctx, req, false)
}

// reconcile looks at a run if it is one that enters its queue, or is none, as entering says. A change that met another
// one is tried again a moment later.
func (a *Admission) reconcile(ctx context.Context, req ctrl.Request, entering bool) (ctrl.Result, error) {
	pr := &tektonv1.PipelineRun{}
	if err := a.client.Get(ctx, req.NamespacedName, pr); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("reading run: %w", err)
	}
	if enters, err := a.awaitsWorkload(ctx, pr); err != nil || enters != entering {
		if err == nil && entering {
			a.line.leave(pr.UID)
		}
		return ctrl.Result{}, err
	}
	result, err := a.join(ctx, req, pr, entering)
	if !entering {
		result, err = a.bound(ctx, req, pr, result, err)
	}
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: conflictRetryDelay}, nil
	}
	if entering && err != nil && !ofAll(err) {
		a.line.stepOut(pr.UID)
	}
	return result, err
}

// awaitsWorkload says whether a run waits and has no Workload yet.
func (a *Admission) awaitsWorkload(ctx context.Context, pr *tektonv1.PipelineRun) (bool, error) {
	if !waits(pr) {
		return false, nil
	}
	wl, err := a.workload(ctx, pr)
	return wl == nil, err
}

func waits(pr *tektonv1.PipelineRun) bool {
	return pr.UID != "" && run.Ours(pr) && pr.IsPending() && pr.DeletionTimestamp.IsZero()
}

// ofAll says whether what failed for one run would fail for any: an API server or a webhook that does not answer.
func ofAll(err error) bool {
	answered := apierrors.APIStatus(nil)
	return !errors.As(err, &answered) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
}

// join does for a run, and for one that is gone, what is next.
func (a *Admission) join(ctx context.Context, req ctrl.Request, pr *tektonv1.PipelineRun,
	entering bool) (ctrl.Result, error) {
	queued := entering && run.Queue(pr) != ""
	if pr.UID != "" {
		ready, err := a.prepare(ctx, pr)
		if isRefusal(err) {
			a.line.stepOut(pr.UID)
			a.events.Eventf(pr, nil, corev1.EventTypeWarning, "CannotQueue", "Admit",
				"The API server refuses every change of it, so it cannot be queued; delete it and submit it again: %v", err)
			return ctrl.Result{RequeueAfter: refusedRetryInterval}, nil
		}
		if !ready || err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		if settled, err := a.isSettled(ctx, pr); settled || err != nil {
			return ctrl.Result{}, err
		}
		if wait, err := a.mayGo(ctx, pr, queued); wait > 0 || err != nil {
			return ctrl.Result{RequeueAfter: wait}, err
		}
	}
	waited := pr.IsPending()
	j := &job{PipelineRun: &tektonv1.PipelineRun{}, starter: a.starter}
	result, err := a.jobs.ReconcileGenericJob(ctx, req, j)
	if queued && err == nil {
		a.line.noteEntry(pr, a.opts.Clock.Now())
	}
	switch {
	case err != nil && waited && isRefusal(err):
		return ctrl.Result{}, a.deactivate(ctx, pr, err)
	case err != nil && waited && apierrors.IsForbidden(err):
		a.events.Eventf(pr, nil, corev1.EventTypeWarning, "StartForbidden", "Admit",
			"The controller may not let it start, and tries again: %v", err)
	case err == nil && waited && !j.IsPending() && j.Annotations[contract.AnnotationAdmitted] != "":
		a.reportStart(ctx, j.PipelineRun)
	case err == nil && waited:
		err = a.keepPlace(ctx, pr)
	}
	return result, err
}

// mayGo is how long a run waits before it may enter its queue, or be let start. Losing its quota waits for nothing.
func (a *Admission) mayGo(ctx context.Context, pr *tektonv1.PipelineRun, queued bool) (time.Duration, error) {
	if losing, err := a.isLosingQuota(ctx, pr); losing || err != nil {
		return 0, err
	}
	if wait, err := a.accountWait(ctx, pr); wait > 0 || err != nil {
		return wait, err
	}
	if queued {
		if wait, err := a.turn(ctx, pr); wait > 0 || err != nil {
			return wait, err
		}
	}
	return a.accessWait(ctx, pr)
}

// turn is how long a run waits for those that were made before it. Where Kueue manages pods its Workload is made here.
func (a *Admission) turn(ctx context.Context, pr *tektonv1.PipelineRun) (time.Duration, error) {
	wait, err := a.line.turn(pr, a.opts.Clock.Now(), func(name types.NamespacedName, id types.UID) (bool, error) {
		other := &tektonv1.PipelineRun{}
		if err := a.client.Get(ctx, name, other); err != nil || other.UID != id || run.Queue(other) == "" {
			return false, client.IgnoreNotFound(err)
		}
		return a.awaitsWorkload(ctx, other)
	})
	if wait > 0 || err != nil || !a.opts.Prebuilt {
		return wait, err
	}
	if err := a.prebuild(ctx, pr); err != nil {
		return 0, err
	}
	a.line.noteEntry(pr, a.opts.Clock.Now())
	return 0, nil
}

// prepare gives a run without a queue its name, and takes the queue label off a run where Kueue manages pods. The patch
// that it makes brings the run here again, so it is not ready in the same round.
func (a *Admission) prepare(ctx context.Context, pr *tektonv1.PipelineRun) (ready bool, err error) {
	if !run.Ours(pr) || !pr.DeletionTimestamp.IsZero() {
		return true, nil
	}
	if _, err := run.Demand(pr); err != nil && pr.IsPending() {
		a.line.stepOut(pr.UID)
		return false, a.explain(ctx, pr, "InvalidDemand", err.Error())
	}
	if a.opts.Prebuilt && run.Queue(pr) != "" && pr.IsPending() && pr.Annotations[contract.AnnotationWorkload] == "" {
		return false, a.unlabel(ctx, pr)
	}
	if pr.IsDone() && !run.Started(pr) {
		return true, a.forget(ctx, pr)
	}
	// One that is queued gets its name with the reason why it waits, or with its start: Tekton is just writing to it.
	if run.Identified(pr) || pr.IsDone() || run.Queue(pr) != "" {
		return true, nil
	}
	before := client.MergeFrom(pr.DeepCopy())
	run.Identify(pr)
	if err := a.client.Patch(ctx, pr, before); err != nil {
		return false, fmt.Errorf("naming run %q: %w", pr.Name, err)
	}
	return false, nil
}

// forget takes away why a run waited that was cancelled before it began.
func (a *Admission) forget(ctx context.Context, pr *tektonv1.PipelineRun) error {
	if pr.Annotations[contract.AnnotationReason] == "" {
		return nil
	}
	before := client.MergeFrom(pr.DeepCopy())
	delete(pr.Annotations, contract.AnnotationReason)
	if err := a.client.Patch(ctx, pr, before); err != nil {
		return fmt.Errorf("clearing the reason why run %q waits: %w", pr.Name, err)
	}
	return nil
}

// isSettled says whether nothing is to be done for the run any more. The framework would write an event at each look.
func (a *Admission) isSettled(ctx context.Context, pr *tektonv1.PipelineRun) (bool, error) {
	if !pr.IsDone() || run.Holding(pr) || !pr.DeletionTimestamp.IsZero() {
		return false, nil
	}
	wl, err := a.workload(ctx, pr)
	if err != nil {
		return false, err
	}
	return wl == nil || apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished) &&
		len(wl.Finalizers) == 0, nil
}

// accessWait is how long an admitted run waits for access to its target, which may have to be asked for it. One that
// cannot be had keeps the quota for a while: the target is there, and its check would not have let the run pass else.
func (a *Admission) accessWait(ctx context.Context, pr *tektonv1.PipelineRun) (time.Duration, error) {
	if !run.Ours(pr) || !pr.IsPending() || run.Queue(pr) == "" || run.Cancelling(pr) || !pr.DeletionTimestamp.IsZero() {
		return 0, nil
	}
	wl, err := a.workload(ctx, pr)
	if err != nil || wl == nil || !admitted(wl) {
		return 0, err
	}
	err = a.opts.Access.Ready(targetOf(wl, pr), pr)
	switch {
	case errors.Is(err, target.ErrNotYet):
		return accessPollInterval, nil
	case err != nil:
		return blockedRetryInterval, a.explain(ctx, pr, "NoCredentials", waitsForCredentials+err.Error())
	}
	return 0, nil
}

// targetOf is where an admitted run goes: bootstrap names a flavor like its target.
func targetOf(wl *kueue.Workload, pr *tektonv1.PipelineRun) string {
	if wl.Status.Admission == nil {
		return run.Target(pr)
	}
	for _, set := range wl.Status.Admission.PodSetAssignments {
		for _, flavor := range set.Flavors {
			return string(flavor)
		}
	}
	return run.Target(pr)
}

// reportStart tells of a start once: only the patch of this very round has changed the run.
func (a *Admission) reportStart(ctx context.Context, pr *tektonv1.PipelineRun) {
	if wl, err := a.workload(ctx, pr); err == nil && wl != nil {
		if reserved := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved); reserved != nil {
			a.opts.Metrics.Admission.WithLabelValues(run.Target(pr)).Observe(
				a.opts.Clock.Since(reserved.LastTransitionTime.Time).Seconds())
		}
	}
	waited := a.opts.Clock.Since(pr.CreationTimestamp.Time)
	a.opts.Metrics.QueueWait.WithLabelValues(run.Target(pr)).Observe(waited.Seconds())
	a.opts.Log.Info("run started", "namespace", pr.Namespace, "run", run.ID(pr), "attempt", run.Attempt(pr),
		"target", run.Target(pr), "waited", waited.Round(time.Second).String())
	history.Write(a.opts.Log, keeper.EventOf(history.Started, a.opts.Hub, pr))
}

func (a *Admission) workload(ctx context.Context, pr *tektonv1.PipelineRun) (*kueue.Workload, error) {
	workloads := &kueue.WorkloadList{}
	err := a.client.List(ctx, workloads, client.InNamespace(pr.Namespace),
		jobframework.OwnerReferenceIndexFieldMatcher(gvk(), pr.Name))
	if err != nil || len(workloads.Items) == 0 {
		return nil, err
	}
	return &workloads.Items[0], nil
}

// explain writes why a run waits, and an event when the reason is new.
func (a *Admission) explain(ctx context.Context, pr *tektonv1.PipelineRun, reason, message string) error {
	if pr.Annotations[contract.AnnotationReason] == message {
		return nil
	}
	before := client.MergeFrom(pr.DeepCopy())
	withAnnotation(pr, contract.AnnotationReason, message)
	if err := a.client.Patch(ctx, pr, before); err != nil {
		return fmt.Errorf("writing why run %q waits: %w", pr.Name, err)
	}
	a.events.Eventf(pr, nil, corev1.EventTypeWarning, reason, "Admit", "%s", message)
	return nil
}
