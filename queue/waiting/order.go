// Package waiting writes the reason why each queued run waits, and its place, to its PipelineRun. It must not change
// what is queued, or in which order.
package waiting

import (
	"cmp"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Waiting returns the Workloads that wait for quota, in the order in which Kueue looks at them: by priority, then by
// the time since which they wait.
func Waiting(all []kueue.Workload) []*kueue.Workload {
	var waiting []*kueue.Workload
	for i := range all {
		if waits(&all[i]) {
			waiting = append(waiting, &all[i])
		}
	}
	slices.SortFunc(waiting, func(a, b *kueue.Workload) int {
		return cmp.Or(
			cmp.Compare(priority(b), priority(a)),
			since(a).Compare(since(b)),
			cmp.Compare(a.UID, b.UID),
		)
	})
	return waiting
}

func waits(wl *kueue.Workload) bool {
	conditions := wl.Status.Conditions
	return wl.DeletionTimestamp.IsZero() && active(wl) &&
		!apimeta.IsStatusConditionTrue(conditions, kueue.WorkloadFinished) &&
		!apimeta.IsStatusConditionTrue(conditions, kueue.WorkloadQuotaReserved)
}

func active(wl *kueue.Workload) bool { return wl.Spec.Active == nil || *wl.Spec.Active }

func priority(wl *kueue.Workload) int32 {
	if wl.Spec.Priority == nil {
		return 0
	}
	return *wl.Spec.Priority
}

// since is later than the creation for a Workload that a check has just sent back, and for one that could not be let
// start: Kueue puts it to the end.
func since(wl *kueue.Workload) time.Time {
	evicted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	if evicted != nil && evicted.Status == "True" && (evicted.Reason == kueue.WorkloadEvictedByAdmissionCheck ||
		unstartable(wl) != "") {
		return evicted.LastTransitionTime.Time
	}
	return wl.CreationTimestamp.Time
}

// unstartable is why a Workload was sent back that was admitted and could not be let start, "" for any other.
func unstartable(wl *kueue.Workload) string {
	evicted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	if evicted == nil || evicted.Status != "True" || evicted.Reason != kueue.WorkloadEvictedByPodsReadyTimeout {
		return ""
	}
	return cmp.Or(evicted.Message, "nobody said why")
}

// near is how far a place is told exactly.
const near = 10

// Before rounds how many are before place n of a queue, from 1. Near the front it is exact; further back it changes
// seldom (10, 20, 50, 100, 200, 500 ...), because each change is a write for each run behind.
func Before(n int) (count int, exact bool) {
	if n <= near {
		return n - 1, true
	}
	count = near
	for step := near; ; step *= 10 {
		for _, bound := range []int{step, 2 * step, 5 * step} {
			if bound >= n {
				return count, false
			}
			count = bound
		}
	}
}
