package placement

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"bflow.dev/bflow/queue/capacity"
	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// DeactivationGrace is how long a run keeps its place though it asks for more than there is now: a node that restarts
// is back by then. One that asks for more than there ever is has none.
const DeactivationGrace = 2 * time.Minute

// WorkloadReconciler deactivates the Workloads of runs that are too big, and activates them again. A request names a
// target, which is also the name of its ClusterQueue.
type WorkloadReconciler struct {
	client  client.Client
	targets *target.Registry
	hub     string
	clock   clock.PassiveClock
	log     *slog.Logger
	lacking map[string]map[types.UID]time.Time // by target: since when a Workload asks for more than there is now
}

var _ reconcile.Reconciler = (*WorkloadReconciler)(nil)

// Reconcile judges all runs that wait in the queue of one target.
func (r *WorkloadReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	sight, known := r.targets.Look(req.Name)
	if !known {
		delete(r.lacking, req.Name)
	}
	if sight == nil || !canBeJudged(sight) {
		return ctrl.Result{}, nil // the view tells when it is complete, and when the API server is back
	}
	queue := &kueue.ClusterQueue{}
	if err := r.client.Get(ctx, req.NamespacedName, queue); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) // its creation is an event
	}
	owner, err := capacity.Owner(ctx, r.client, r.hub)
	if err != nil {
		return ctrl.Result{}, err
	}
	inventory, err := sight.Inventory(ctx, owner)
	if err != nil {
		return ctrl.Result{}, err
	}
	waiting, err := r.listWaiting(ctx, req.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	j := &judgement{target: req.Name, promised: capacity.Promised(queue.Spec.ResourceGroups), inventory: inventory,
		known: map[string]Lack{}}
	return r.act(ctx, j, waiting)
}

func canBeJudged(t target.Sight) bool {
	reach := t.Reach()
	return t.Ready() && (reach.Since.IsZero() || reach.Up)
}

// judgement remembers what it found: runs of one experiment ask for the same.
type judgement struct {
	target    string
	promised  devices.Amounts
	inventory *devices.Inventory
	known     map[string]Lack
}

// lack judges one run. What cannot be read is reported elsewhere.
func (j *judgement) lack(pr *tektonv1.PipelineRun) Lack {
	key := asks(pr)
	lack, ok := j.known[key]
	if !ok {
		demand, err := run.Demand(pr)
		pods, podsErr := run.Shapes(pr)
		if err == nil && podsErr == nil {
			w := Wants{All: devices.Amounts{}, Pods: pods}
			for name, q := range demand {
				w.All[string(name)] = q.Value()
			}
			lack = Judge(j.target, w, j.promised, j.inventory)
		}
		j.known[key] = lack
	}
	return lack
}

// pair is a Workload without quota and its run. Both are shared with the cache.
type pair struct {
	workload *kueue.Workload
	run      *tektonv1.PipelineRun
}

// listWaiting lists what waits in the queues of a ClusterQueue, and what was deactivated there.
func (r *WorkloadReconciler) listWaiting(ctx context.Context, queue string) ([]pair, error) {
	var locals kueue.LocalQueueList
	var workloads kueue.WorkloadList
	var runs tektonv1.PipelineRunList
	for _, list := range []client.ObjectList{&locals, &workloads, &runs} {
		if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("reading who waits in queue %q: %w", queue, err)
		}
	}
	here := map[types.NamespacedName]bool{}
	for i := range locals.Items {
		here[client.ObjectKeyFromObject(&locals.Items[i])] = string(locals.Items[i].Spec.ClusterQueue) == queue
	}
	byUID := map[types.UID]*tektonv1.PipelineRun{}
	for i := range runs.Items {
		byUID[runs.Items[i].UID] = &runs.Items[i]
	}
	var out []pair
	for i := range workloads.Items {
		wl := &workloads.Items[i]
		owner := metav1.GetControllerOfNoCopy(wl)
		if owner == nil || !here[types.NamespacedName{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}] ||
			!isWithoutQuota(wl) {
			continue
		}
		if pr := byUID[owner.UID]; pr != nil && run.Ours(pr) && pr.IsPending() && pr.DeletionTimestamp.IsZero() {
			out = append(out, pair{wl, pr})
		}
	}
	return out, nil
}

// isWithoutQuota says whether a Workload waits for quota, be it deactivated by us. One that somebody else has
// deactivated is none of ours.
func isWithoutQuota(wl *kueue.Workload) bool {
	return wl.DeletionTimestamp.IsZero() && (isActive(wl) || wl.Annotations[run.AnnotationTooBig] != "") &&
		!apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished) && !hasQuota(wl)
}

// wasEvictedByCheck says whether the check of the target has waited for it already.
func wasEvictedByCheck(wl *kueue.Workload) bool {
	evicted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	return evicted != nil && evicted.Status == metav1.ConditionTrue &&
		evicted.Reason == kueue.WorkloadEvictedByAdmissionCheck
}

func (r *WorkloadReconciler) act(ctx context.Context, j *judgement, waiting []pair) (ctrl.Result, error) {
	now, before, lacking := r.clock.Now(), r.lacking[j.target], map[types.UID]time.Time{}
	var result ctrl.Result
	var failed []error
	for _, p := range waiting {
		lack := j.lack(p.run)
		if lack.Why == "" {
			failed = append(failed, r.mark(ctx, p, ""))
			continue
		}
		since, known := before[p.workload.UID]
		if !known {
			since = now
		}
		lacking[p.workload.UID] = since
		if left := DeactivationGrace - now.Sub(since); isActive(p.workload) && !lack.Ever && !wasEvictedByCheck(p.workload) &&
			left > 0 {
			if result.RequeueAfter == 0 || left < result.RequeueAfter {
				result.RequeueAfter = left
			}
			continue
		}
		failed = append(failed, r.mark(ctx, p, lack.Why))
	}
	r.lacking[j.target] = lacking
	err := errors.Join(slices.DeleteFunc(failed, apierrors.IsConflict)...)
	if err == nil && slices.ContainsFunc(failed, apierrors.IsConflict) { // Kueue writes to it just now
		result.RequeueAfter = debounce
	}
	return result, err
}

// mark deactivates a Workload for a reason, or activates it again, with "". It must not have got its quota
// meanwhile: that would be an eviction.
func (r *WorkloadReconciler) mark(ctx context.Context, p pair, why string) error {
	if p.workload.Annotations[run.AnnotationTooBig] == why && isActive(p.workload) == (why == "") {
		return nil
	}
	wl := p.workload.DeepCopy()
	before := client.MergeFromWithOptions(wl.DeepCopy(), client.MergeFromWithOptimisticLock{})
	back := why == ""
	wl.Spec.Active = &back
	if wl.Annotations == nil {
		wl.Annotations = map[string]string{}
	}
	wl.Annotations[run.AnnotationTooBig] = why
	if back {
		delete(wl.Annotations, run.AnnotationTooBig)
	}
	if err := client.IgnoreNotFound(r.client.Patch(ctx, wl, before)); err != nil {
		return fmt.Errorf("deactivating run %q, or activating it again: %w", p.run.Name, err)
	}
	if isActive(p.workload) != back {
		r.log.Info("run deactivated or activated again", "namespace", p.run.Namespace, "run", run.ID(p.run), "queued", back,
			"why", why)
	}
	return nil
}
