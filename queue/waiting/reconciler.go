package waiting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// debounce is how long changes are gathered before the queues are read: one admission moves every place behind it.
const debounce = time.Second

// reservationReportDelay is how long a reservation may be on its way through the checks before anybody is told.
const reservationReportDelay = 3 * time.Second

// Reconciler explains all queued runs at once: places are known only together.
type Reconciler struct {
	client  client.Client
	events  events.EventRecorder
	metrics *metrics.Metrics
	told    map[types.UID]string // kind of the reason that the last event of a run told of
	rest    time.Time            // until then a busy API server is left alone
}

// NewReconciler makes the reconciler that explains.
func NewReconciler(c client.Client, recorder events.EventRecorder, m *metrics.Metrics) *Reconciler {
	return &Reconciler{client: c, events: recorder, metrics: m, told: map[types.UID]string{}}
}

// Setup registers the reconciler: any change of a Workload, or of a run, makes it look again after a moment.
func Setup(mgr ctrl.Manager, m *metrics.Metrics) error {
	r := NewReconciler(mgr.GetClient(), mgr.GetEventRecorder("bflow-waiting"), m)
	all := watch.Debounce(debounce,
		func(context.Context, client.Object) []reconcile.Request { return watch.ByName("queues") })
	return ctrl.NewControllerManagedBy(mgr).Named("waiting").
		Watches(&kueue.Workload{}, all).
		Watches(&kueue.LocalQueue{}, all, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Namespace{}, all, builder.WithPredicates(watch.Enabled())).
		WithOptions(controller.Options{RateLimiter: watch.Backoff()}).
		Complete(r)
}

// Reconcile writes the reasons that have changed. Where that takes long it rests as long: starts go before words.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	began := time.Now()
	if wait := r.rest.Sub(began); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	result, err := r.tell(ctx)
	if took := time.Since(began); took > debounce {
		r.rest = time.Now().Add(took)
	}
	return result, err
}

func (r *Reconciler) tell(ctx context.Context) (ctrl.Result, error) {
	reasons, soon, err := r.reasons(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	var runs tektonv1.PipelineRunList
	if err := r.client.List(ctx, &runs, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("reading runs: %w", err)
	}
	told := make(map[types.UID]string, len(r.told))
	var failed []error
	again := time.Duration(0)
	if soon {
		again = debounce
	}
	for i := range runs.Items {
		pr := &runs.Items[i]
		reason, ok := reasons[pr.UID]
		if !ok || !run.Ours(pr) || !pr.IsPending() || !pr.DeletionTimestamp.IsZero() {
			continue
		}
		told[pr.UID] = reason.Kind
		err := r.explain(ctx, pr, reason)
		if apierrors.IsConflict(err) { // it changes just now, by its start perhaps
			again, err = debounce, nil
		}
		failed = append(failed, client.IgnoreNotFound(err))
	}
	r.told = told
	return ctrl.Result{RequeueAfter: again}, errors.Join(failed...)
}

// reasons are those of all Workloads that a PipelineRun owns, by its UID; soon says that time alone changes some.
func (r *Reconciler) reasons(ctx context.Context) (reasons map[types.UID]Reason, soon bool, err error) {
	var queues kueue.LocalQueueList
	if err := r.client.List(ctx, &queues, client.UnsafeDisableDeepCopy); err != nil {
		return nil, false, fmt.Errorf("reading queues: %w", err)
	}
	cluster := map[types.NamespacedName]string{}
	for _, q := range queues.Items {
		cluster[client.ObjectKeyFromObject(&q)] = string(q.Spec.ClusterQueue)
	}
	var workloads kueue.WorkloadList
	if err := r.client.List(ctx, &workloads, client.UnsafeDisableDeepCopy); err != nil {
		return nil, false, fmt.Errorf("reading Workloads: %w", err)
	}
	places := placesOf(workloads.Items, cluster)
	reasons = map[types.UID]Reason{}
	for i := range workloads.Items {
		wl := &workloads.Items[i]
		owner := metav1.GetControllerOfNoCopy(wl)
		if owner == nil || owner.Kind != "PipelineRun" {
			continue
		}
		reason := Explain(wl, places[wl.UID])
		if reason.Kind == KindChecked && time.Since(reservedAt(wl)) < reservationReportDelay {
			reason.Kind, soon = KindStarting, true // it most likely is, and of a start nothing is written
		}
		reasons[owner.UID] = reason
	}
	return reasons, soon, nil
}

func reservedAt(wl *kueue.Workload) time.Time {
	return apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved).LastTransitionTime.Time
}

// placesOf are the places of waiting Workloads, by UID. Queues of several namespaces may share one of the cluster.
func placesOf(all []kueue.Workload, cluster map[types.NamespacedName]string) map[types.UID]int {
	places, last := map[types.UID]int{}, map[string]int{}
	for _, wl := range Waiting(all) {
		queue, ok := cluster[types.NamespacedName{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}]
		if !ok {
			continue
		}
		last[queue]++
		places[wl.UID] = last[queue]
	}
	return places
}

// explain writes one reason when it has changed, and an event when it is of another kind. The cached object is shared,
// so it is not touched.
func (r *Reconciler) explain(ctx context.Context, pr *tektonv1.PipelineRun, reason Reason) error {
	before := pr.Annotations[contract.AnnotationReason]
	if before == reason.Text || reason.Kind == KindStarting { // a write would only get in the way of the start
		return nil
	}
	pr = pr.DeepCopy()
	patch := client.MergeFromWithOptions(pr.DeepCopy(), client.MergeFromWithOptimisticLock{}) // it may have started
	if pr.Annotations == nil {
		pr.Annotations = map[string]string{}
	}
	pr.Annotations[contract.AnnotationReason] = reason.Text
	run.Identify(pr)
	if err := r.client.Patch(ctx, pr, patch); err != nil {
		return fmt.Errorf("writing why run %q waits: %w", pr.Name, err)
	}
	r.metrics.ReasonWrites.Inc()
	if was, known := r.told[pr.UID]; known && was == reason.Kind || !known && before != "" {
		return nil
	}
	if reason.Kind == KindSentBack { // who sent it back has told of it
		return nil
	}
	kind := corev1.EventTypeNormal
	if reason.Kind == KindTooBig || reason.Kind == KindNotQueued || reason.Kind == KindDeactivated {
		kind = corev1.EventTypeWarning
	}
	r.events.Eventf(pr, nil, kind, reason.Kind, "Queue", "%s", reason.Text)
	return nil
}
