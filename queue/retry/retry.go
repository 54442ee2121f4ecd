// Package retry gives a run that lost its quota, or a task to its target, another attempt: a PipelineRun of the same
// plan, because one that has begun cannot wait again. It must not judge results: a run that failed by itself gets
// none.
package retry

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"time"

	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"knative.dev/pkg/kmeta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

// None is the next attempt of a run that gets none.
const None = run.NoNext

// MaxAttempts ends the attempts of a run that is taken off again and again.
const MaxAttempts = 5

// Reconciler makes attempts.
type Reconciler struct {
	client  client.Client
	live    client.Reader
	events  events.EventRecorder
	metrics *metrics.Metrics
	log     *slog.Logger
}

// NewReconciler makes the reconciler of attempts.
func NewReconciler(c client.Client, live client.Reader, recorder events.EventRecorder, m *metrics.Metrics,
	log *slog.Logger) *Reconciler {
	return &Reconciler{client: c, live: live, events: recorder, metrics: m, log: log}
}

// Setup registers the reconciler.
func Setup(mgr ctrl.Manager, m *metrics.Metrics, log *slog.Logger) error {
	r := NewReconciler(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder("bflow-retry"), m, log)
	return ctrl.NewControllerManagedBy(mgr).Named("retry").
		For(&tektonv1.PipelineRun{}).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(watch.RunsOf(r.client)),
			builder.WithPredicates(watch.Enabled())).
		WithOptions(controller.Options{RateLimiter: watch.Backoff()}).
		Complete(r)
}

// Reconcile makes the next attempt of a run that ended for no fault of its own and is released. The mark comes last:
// a death before it finds the attempt again by its name, and an attempt that a person deletes is not made anew.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pr := &tektonv1.PipelineRun{}
	if err := r.client.Get(ctx, req.NamespacedName, pr); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !Due(pr) && !givenUp(pr) {
		return ctrl.Result{}, nil
	}
	whole := &tektonv1.PipelineRun{} // caches hold less than a copy needs, and may not know of a cancel yet
	if err := r.live.Get(ctx, req.NamespacedName, whole); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var err error
	switch {
	case givenUp(whole):
		err = r.endAttempts(ctx, whole)
	case Due(whole):
		err = r.makeNext(ctx, whole)
	}
	if apierrors.IsConflict(err) { // somebody wants its end just now, perhaps
		return ctrl.Result{RequeueAfter: conflictRetryDelay}, nil
	}
	return ctrl.Result{}, err
}

// conflictRetryDelay is when a change that met another one is tried again.
const conflictRetryDelay = 200 * time.Millisecond

// makeNext makes the next attempt of pr.
func (r *Reconciler) makeNext(ctx context.Context, pr *tektonv1.PipelineRun) error {
	if run.Attempt(pr) >= MaxAttempts {
		if err := r.mark(ctx, pr, None); err != nil {
			return err
		}
		r.events.Eventf(pr, nil, corev1.EventTypeWarning, "NoMoreAttempts", "Retry",
			"It %s in attempt %d, the last one; run it again when the cluster is calmer", what(pr), run.Attempt(pr))
		return nil
	}
	next := Next(pr)
	if err := r.client.Create(ctx, next); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making attempt %q: %w", next.Name, err)
	}
	if err := r.mark(ctx, pr, next.Name); err != nil {
		return err
	}
	r.metrics.Attempts.WithLabelValues(run.Cause(pr)).Inc()
	r.log.Info("attempt made", "namespace", pr.Namespace, "run", run.ID(pr), "attempt", run.Attempt(next), "cause",
		run.Cause(pr))
	r.events.Eventf(pr, next, corev1.EventTypeNormal, "NextAttempt", "Retry", "It %s; attempt %s waits in the queue",
		what(pr), next.Name)
	return nil
}

// endAttempts ends the attempts of a run that was cancelled between two of them. The next one may have been made on
// the word of a moment before, and not been written down: it is cancelled too.
func (r *Reconciler) endAttempts(ctx context.Context, pr *tektonv1.PipelineRun) error {
	next := &tektonv1.PipelineRun{}
	err := r.live.Get(ctx, client.ObjectKey{Namespace: pr.Namespace, Name: nextName(pr)}, next)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("looking for the next attempt of run %q: %w", run.ID(pr), err)
	case err == nil && run.Key(next) == run.Key(pr) && !run.Over(next) && !run.Cancelling(next):
		if err := r.cancel(ctx, next, pr.Annotations[contract.AnnotationCancel]); err != nil {
			return err
		}
	}
	if err := r.mark(ctx, pr, None); err != nil {
		return err
	}
	r.log.Info("no further attempt of a run that was cancelled",
		"namespace", pr.Namespace, "run", run.ID(pr), "attempt", run.Attempt(pr))
	r.events.Eventf(pr, nil, corev1.EventTypeNormal, "Cancelled", "Retry",
		"It %s and was cancelled then, so it gets no further attempt", what(pr))
	return nil
}

// cancel ends an attempt as a person does: one that has begun with its last tasks.
func (r *Reconciler) cancel(ctx context.Context, pr *tektonv1.PipelineRun, since string) error {
	lock := client.MergeFromWithOptimisticLock{} // it may be let start just now
	before := client.MergeFromWithOptions(pr.DeepCopy(), lock)
	pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelledRunFinally
	if !run.Started(pr) {
		pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled
	}
	annotations := maps.Clone(pr.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[contract.AnnotationCancel] = since
	pr.Annotations = annotations
	if err := client.IgnoreNotFound(r.client.Patch(ctx, pr, before)); err != nil {
		return fmt.Errorf("cancelling attempt %q: %w", pr.Name, err)
	}
	return nil
}

// what happened to a run.
func what(pr *tektonv1.PipelineRun) string {
	if run.Cause(pr) == run.CauseLost {
		return "lost a task to its target"
	}
	return "lost its quota"
}

// Due says whether the run gets another attempt.
func Due(pr *tektonv1.PipelineRun) bool {
	return run.Between(pr) && run.Released(pr) && !run.Cancelling(pr)
}

// givenUp says whether somebody wants the end of a run that would get another attempt.
func givenUp(pr *tektonv1.PipelineRun) bool {
	return run.Between(pr) && run.Released(pr) && run.Cancelling(pr)
}

// mark writes down what the next attempt is, on the run as it was seen: a cancel of just now comes first.
func (r *Reconciler) mark(ctx context.Context, pr *tektonv1.PipelineRun, next string) error {
	before := client.MergeFromWithOptions(pr.DeepCopy(), client.MergeFromWithOptimisticLock{})
	pr.Annotations[run.AnnotationNext] = next
	if err := client.IgnoreNotFound(r.client.Patch(ctx, pr, before)); err != nil {
		return fmt.Errorf("marking run %q: %w", pr.Name, err)
	}
	return nil
}

// nextName is that of the PipelineRun of the next attempt.
func nextName(pr *tektonv1.PipelineRun) string {
	return kmeta.ChildName(run.ID(pr), "-a"+strconv.Itoa(run.Attempt(pr)+1))
}

// Next is the PipelineRun of the next attempt of the run of pr: the same plan, pending, in the same queue. One that
// may go to several targets is in the queue of none, as it was compiled: where the last attempt was may be what it
// lost.
func Next(pr *tektonv1.PipelineRun) *tektonv1.PipelineRun {
	id, attempt := run.ID(pr), strconv.Itoa(run.Attempt(pr)+1)
	labels := maps.Clone(pr.Labels)
	for key := range labels { // Tekton's own name the old PipelineRun
		if len(key) > len(tektonPrefix) && key[:len(tektonPrefix)] == tektonPrefix {
			delete(labels, key)
		}
	}
	labels[contract.LabelRun], labels[contract.LabelAttempt] = id, attempt
	if queue := run.Queue(pr); queue != "" {
		labels[contract.LabelQueue] = queue
		if run.Several(pr) {
			labels[contract.LabelQueue], labels[contract.LabelTarget] = contract.TargetAny, contract.TargetAny
		}
	}
	annotations := map[string]string{}
	for _, key := range keptAnnotations() {
		if value, ok := pr.Annotations[key]; ok {
			annotations[key] = value
		}
	}
	next := &tektonv1.PipelineRun{
		ObjectMeta: metav1.ObjectMeta{
			Name: nextName(pr), Namespace: pr.Namespace, Labels: labels, Annotations: annotations,
			OwnerReferences: pr.OwnerReferences, // whoever started the run takes all of it along
		},
		Spec: *pr.Spec.DeepCopy(),
	}
	next.Spec.Status = tektonv1.PipelineRunSpecStatusPending
	next.Spec.Params = withParam(withParam(next.Spec.Params, contract.ParamRunID, id), contract.ParamAttempt, attempt)
	return next
}

const tektonPrefix = "tekton.dev/"

// keptAnnotations are what whoever made the run wrote, and which point of a matrix it is: what happened to the old
// attempt does not hold for the new one.
func keptAnnotations() []string {
	kept := []string{contract.AnnotationPoint, contract.AnnotationMLflowParent}
	for key, rule := range run.KeyTable() {
		if key.Kind == run.AnnotationKey && rule == run.RuleFixed {
			kept = append(kept, key.Name)
		}
	}
	return kept
}

func withParam(params tektonv1.Params, name, value string) tektonv1.Params {
	for i := range params {
		if params[i].Name == name {
			params[i].Value = *tektonv1.NewStructuredValues(value)
			return params
		}
	}
	return append(params, tektonv1.Param{Name: name, Value: *tektonv1.NewStructuredValues(value)})
}
