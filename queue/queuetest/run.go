package queuetest

import (
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/apis"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// RunEdit changes a run that is made.
type RunEdit func(*tektonv1.PipelineRun)

// MakeRun is a run of bflow in Namespace, whose UID is its name.
func MakeRun(name string, edits ...RunEdit) *tektonv1.PipelineRun {
	pr := &tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: Namespace, UID: types.UID(name),
		Labels: map[string]string{contract.LabelPlanHash: "h"}, Annotations: map[string]string{},
	}}
	for _, edit := range edits {
		edit(pr)
	}
	return pr
}

// Pending is a run that waits.
func Pending(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusPending }

// Identified is a run that has its labels of a run.
func Identified(pr *tektonv1.PipelineRun) { pr.Labels[contract.LabelRun] = pr.Name }

// InQueue is a run of the queue of a target.
func InQueue(target string) RunEdit {
	return func(pr *tektonv1.PipelineRun) {
		pr.Labels[contract.LabelQueue], pr.Labels[contract.LabelTarget] = target, target
	}
}

// OnTarget is a run that goes to a target.
func OnTarget(name string) RunEdit {
	return func(pr *tektonv1.PipelineRun) { pr.Labels[contract.LabelTarget] = name }
}

// Requests is a run that asks for devices, as in {"nvidia.com/gpu":"4"}.
func Requests(amounts string) RunEdit { return Annotated(contract.AnnotationRequests, amounts) }

// Annotated is a run with an annotation.
func Annotated(key, value string) RunEdit {
	return func(pr *tektonv1.PipelineRun) { pr.Annotations[key] = value }
}

// Ended is a run that succeeded at a time.
func Ended(at time.Time) RunEdit {
	return func(pr *tektonv1.PipelineRun) {
		pr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionTrue})
		pr.Status.CompletionTime = &metav1.Time{Time: at}
	}
}

// WorkloadEdit changes a Workload that is made.
type WorkloadEdit func(*kueue.Workload)

// MakeWorkload is the Workload of a run, of its name and in its queue, as Kueue makes it.
func MakeWorkload(pr *tektonv1.PipelineRun, edits ...WorkloadEdit) *kueue.Workload {
	controller := true
	owner := run.Owner(pr)
	owner.Controller = &controller
	wl := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Name: pr.Name, Namespace: pr.Namespace, UID: "w-" + pr.UID,
			CreationTimestamp: pr.CreationTimestamp,
			OwnerReferences:   []metav1.OwnerReference{owner}},
		Spec: kueue.WorkloadSpec{QueueName: kueue.LocalQueueName(run.Queue(pr))},
	}
	for _, edit := range edits {
		edit(wl)
	}
	return wl
}

// WithQuota is a Workload that holds quota.
func WithQuota(wl *kueue.Workload) {
	apimeta.SetStatusCondition(&wl.Status.Conditions,
		metav1.Condition{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue, Reason: "x"})
}

// EvictedByCheck is a Workload that the check of its target sent back.
func EvictedByCheck(wl *kueue.Workload) {
	apimeta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
		Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue, Reason: kueue.WorkloadEvictedByAdmissionCheck})
}

// Deactivated is a Workload that is taken out of its queue.
func Deactivated(wl *kueue.Workload) { wl.Spec.Active = new(bool) }
