package queue

import (
	"context"
	"fmt"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// keepPlace lets a run that the check of its target sent back keep the place that it had. Kueue orders such a
// Workload by the time of that, which its condition tells, and so puts it behind all others each time. The time since
// which it queues is that of its creation, so the condition tells that one.
func (a *Admission) keepPlace(ctx context.Context, pr *tektonv1.PipelineRun) error {
	wl, err := a.workload(ctx, pr)
	if err != nil || wl == nil || !sentBack(wl) {
		return err
	}
	// a list of conditions is replaced as a whole
	before := client.MergeFromWithOptions(wl.DeepCopy(), client.MergeFromWithOptimisticLock{})
	apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted).LastTransitionTime = wl.CreationTimestamp
	if err := client.IgnoreNotFound(a.client.Status().Patch(ctx, wl, before)); err != nil {
		return fmt.Errorf("giving run %q its place in the queue back: %w", pr.Name, err)
	}
	return nil
}

// sentBack says whether Kueue would put the Workload to the end.
func sentBack(wl *kueue.Workload) bool {
	evicted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	return evicted != nil && evicted.Status == "True" && evicted.Reason == kueue.WorkloadEvictedByAdmissionCheck &&
		!apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadQuotaReserved) &&
		evicted.LastTransitionTime.After(wl.CreationTimestamp.Time)
}
