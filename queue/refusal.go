package queue

import (
	"context"
	"fmt"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// isRefusal says whether Tekton will never take a change: trying again would hold the quota for nothing. That a right
// is missing is another thing: somebody will grant it.
func isRefusal(err error) bool { return apierrors.IsBadRequest(err) }

// deactivate takes a run that cannot be let start out of the queue. Tekton refuses every change of a run that was
// stored before its webhook was ready, so the Workload is what gives the quota back.
func (a *Admission) deactivate(ctx context.Context, pr *tektonv1.PipelineRun, cause error) error {
	wl, err := a.workload(ctx, pr)
	if err != nil || wl == nil || !admitted(wl) {
		return cause
	}
	before := client.MergeFrom(wl.DeepCopy())
	inactive := false
	wl.Spec.Active = &inactive
	if err := a.client.Patch(ctx, wl, before); err != nil {
		return fmt.Errorf("taking run %q out of its queue: %w", pr.Name, err)
	}
	a.opts.Metrics.Unstartable.Inc()
	a.events.Eventf(pr, nil, corev1.EventTypeWarning, "CannotStart", "Admit",
		"The API server refuses to let it start, so it left the queue; delete it and submit it again: %v", cause)
	return nil
}
