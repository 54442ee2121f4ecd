package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/lock"
	"bflow.dev/bflow/queue/lock/keeper"
	"bflow.dev/bflow/queue/run"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// reservations are the Workloads of a check that hold quota.
type reservations struct {
	granted []*tektonv1.PipelineRun
	waiting []reservation
}

type reservation struct {
	workload *kueue.Workload
	run      *tektonv1.PipelineRun
}

// index finds the Workloads that hold quota by their checks, among thousands that do not.
const index = "bflow.dev/checked"

// indexOf are the names of the checks of a Workload that holds quota; stateOf finds each of them.
func indexOf(o client.Object) []string {
	w, ok := o.(*kueue.Workload)
	if !ok || !holdsQuota(w) {
		return nil
	}
	var out []string
	for _, c := range w.Status.AdmissionChecks {
		out = append(out, string(c.Name))
	}
	return out
}

// reservations reads them from the cache. Waiting ones are in the order in which they may go.
func (r *Reconciler) reservations(ctx context.Context, check string) (reservations, error) {
	var list kueue.WorkloadList
	if err := r.client.List(ctx, &list, client.MatchingFields{index: check}, client.UnsafeDisableDeepCopy); err != nil {
		return reservations{}, fmt.Errorf("listing the Workloads of check %q: %w", check, err)
	}
	var out reservations
	for i := range list.Items {
		w := &list.Items[i]
		state := stateOf(w, check)
		pr, err := r.runOf(ctx, w)
		switch {
		case err != nil:
			return reservations{}, err
		case pr == nil:
		case state.State == kueue.CheckStateReady || is(w, kueue.WorkloadAdmitted):
			out.granted = append(out.granted, pr)
		case state.State == kueue.CheckStatePending:
			out.waiting = append(out.waiting, reservation{w, pr})
		}
	}
	slices.SortFunc(out.waiting, inOrder)
	return out, nil
}

// inOrder is Kueue's order as far as it can be known: by priority, then by age.
func inOrder(a, b reservation) int {
	return cmp.Or(
		cmp.Compare(priority(b.workload), priority(a.workload)),
		a.workload.CreationTimestamp.Compare(b.workload.CreationTimestamp.Time),
		cmp.Compare(a.workload.Namespace+"/"+a.workload.Name, b.workload.Namespace+"/"+b.workload.Name),
	)
}

func priority(w *kueue.Workload) int32 {
	if w.Spec.Priority == nil {
		return 0
	}
	return *w.Spec.Priority
}

func stateOf(w *kueue.Workload, check string) *kueue.AdmissionCheckState {
	for i := range w.Status.AdmissionChecks {
		if string(w.Status.AdmissionChecks[i].Name) == check {
			return &w.Status.AdmissionChecks[i]
		}
	}
	return nil
}

// holdsQuota says whether the check is asked at all: before the reservation, and once it is taken back, it is not.
func holdsQuota(w *kueue.Workload) bool {
	return is(w, kueue.WorkloadQuotaReserved) && !is(w, kueue.WorkloadFinished) && !is(w, kueue.WorkloadEvicted) &&
		w.DeletionTimestamp.IsZero()
}

func is(w *kueue.Workload, condition string) bool {
	return meta.IsStatusConditionTrue(w.Status.Conditions, condition)
}

// runOf returns the PipelineRun of a Workload, or nil where there is none any more: one of the same name that was
// made since is another one.
func (r *Reconciler) runOf(ctx context.Context, w *kueue.Workload) (*tektonv1.PipelineRun, error) {
	i := slices.IndexFunc(w.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "PipelineRun" })
	if i < 0 {
		return nil, nil
	}
	pr := &tektonv1.PipelineRun{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.OwnerReferences[i].Name}, pr)
	if err != nil || pr.UID != w.OwnerReferences[i].UID {
		return nil, client.IgnoreNotFound(err)
	}
	return pr, nil
}

// assumed are the pods that runs which were let start still have to put on a node.
func assumed(granted []*tektonv1.PipelineRun, held map[types.NamespacedName]devices.Amounts) []devices.Shape {
	var out []devices.Shape
	for _, pr := range granted {
		if run.Freed(pr) || run.Released(pr) {
			continue
		}
		if shapes, err := run.Shapes(pr); err == nil {
			out = append(out, devices.Missing(shapes, held[run.Key(pr)])...)
		}
	}
	return out
}

// claims are the runs that have leave to start and have not.
func (f reservations) claims() []lock.Request {
	var out []lock.Request
	for _, pr := range f.granted {
		if !run.Started(pr) && !pr.IsDone() {
			out = append(out, keeper.RequestOf(pr))
		}
	}
	return out
}

// waitingOf is what Decide needs to know of a reservation.
func waitingOf(r reservation) Waiting {
	w := Waiting{Run: run.ID(r.run), Lock: keeper.RequestOf(r.run)}
	w.Shapes, w.Invalid = run.Shapes(r.run)
	if c := meta.FindStatusCondition(r.workload.Status.Conditions, kueue.WorkloadQuotaReserved); c != nil {
		w.Reserved = c.LastTransitionTime.Time
	}
	return w
}
