package queue

import (
	"context"
	"fmt"

	"bflow.dev/bflow/queue/run"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/podset"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// Stop ends a run that has begun so that it still tears down: it cannot become pending again. A run that waits is left
// as it is, so that it keeps its place. A Workload that somebody deletes stays, and with it the quota, until the run is
// released.
func (j *job) Stop(ctx context.Context, c client.Client, _ []podset.PodSetInfo, reason jobframework.StopReason,
	message string) (bool, error) {
	stopped, err := j.stop(ctx, c, reason, message)
	if err != nil {
		return stopped, err
	}
	losing := reason == jobframework.StopReasonWorkloadDeleted || reason == jobframework.StopReasonNoMatchingWorkload
	if losing && run.Holding(j.PipelineRun) {
		return stopped, jobframework.UnretryableError(fmt.Sprintf("keeping the quota of run %q: it is not released yet",
			j.Name))
	}
	return stopped, nil
}

func (j *job) stop(ctx context.Context, c client.Client, reason jobframework.StopReason, message string) (bool, error) {
	if j.IsDone() || j.IsPending() || run.Stopping(j.PipelineRun) {
		return false, nil
	}
	cause := run.CauseQuota
	if reason == jobframework.StopReasonWorkloadEvicted {
		why, err := j.evictionCause(ctx, c)
		if err != nil {
			return false, err
		}
		cause = why
	}
	before := client.MergeFromWithOptions(j.DeepCopy(), client.MergeFromWithOptimisticLock{})
	j.Spec.Status = tektonv1.PipelineRunSpecStatusCancelledRunFinally
	withAnnotation(j.PipelineRun, run.AnnotationStopped, cause+": "+message)
	if err := c.Patch(ctx, j.PipelineRun, before); err != nil {
		return false, fmt.Errorf("stopping run %q: %w", j.Name, err)
	}
	return true, nil
}

// evictionCause tells an eviction that a new attempt may follow from one that a person asked for.
func (j *job) evictionCause(ctx context.Context, c client.Client) (string, error) {
	wl := &kueue.Workload{}
	name := jobframework.PrebuiltWorkloadNameFor(j.PipelineRun)
	if name == "" {
		name = jobframework.GetWorkloadNameForOwnerWithGVK(j.Name, j.UID, gvk())
	}
	err := c.Get(ctx, types.NamespacedName{Namespace: j.Namespace, Name: name}, wl)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading why run %q was evicted: %w", j.Name, err)
	}
	condition := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	if condition != nil && (condition.Reason == kueue.WorkloadDeactivated || wl.Spec.Active != nil && !*wl.Spec.Active) {
		return run.CauseDeactivated, nil
	}
	return run.CauseEvicted, nil
}
