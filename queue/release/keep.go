package release

import (
	"context"
	"maps"
	"slices"
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	ctrl "sigs.k8s.io/controller-runtime"
)

// keptUntil is when the server of a run that has ended goes, the zero time where it went or goes with the run: somebody
// ended that, nobody wants the server to stay, or it never came up.
func (r *Reconciler) keptUntil(pr *tektonv1.PipelineRun, w work) time.Time {
	wish, err := time.ParseDuration(pr.Annotations[contract.AnnotationKeepServer])
	if err != nil || !pr.IsDone() || run.Stopping(pr) || run.Cause(pr) != "" || w.lost(pr) != "" ||
		!w.deployed() {
		return time.Time{}
	}
	until := run.EndedAt(pr).Add(min(wish, r.opts.KeepServers))
	for _, at := range wishedEnds(pr) {
		if at.Before(until) {
			until = at
		}
	}
	return until
}

// wishedEnds are the times at which somebody wanted the end of a run.
func wishedEnds(pr *tektonv1.PipelineRun) (ends []time.Time) {
	if at := pr.DeletionTimestamp; at != nil {
		ends = append(ends, at.Time)
	}
	for _, key := range []string{contract.AnnotationCancel, contract.AnnotationForce} {
		if text := pr.Annotations[key]; text != "" {
			at, _ := time.Parse(time.RFC3339, text) // who writes no time wants it now, or before
			ends = append(ends, at)
		}
	}
	return ends
}

// deployed says whether the server of the run came up.
func (w work) deployed() bool {
	return slices.ContainsFunc(w.tasks, func(task tektonv1.TaskRun) bool {
		return pipelineTask(&task) == contract.Provision && task.IsSuccessful()
	})
}

// keep leaves the server of a run that has ended where it is, and with it the quota of the run. What computes its
// results goes on.
func (r *Reconciler) keep(ctx context.Context, pr *tektonv1.PipelineRun, w work) (ctrl.Result, error) {
	finishing, err := r.finish(ctx, pr, w)
	if err != nil {
		return ctrl.Result{}, err
	}
	until := r.keptUntil(pr, w)
	result := ctrl.Result{RequeueAfter: until.Sub(r.opts.Clock.Now())}
	if finishing != "" {
		result.RequeueAfter = min(result.RequeueAfter, recheckInterval)
	}
	stamp := until.UTC().Format(time.RFC3339)
	if pr.Annotations[contract.AnnotationServerUntil] == stamp {
		return result, nil
	}
	return result, r.change(ctx, pr, func(pr *tektonv1.PipelineRun) {
		set(pr, contract.AnnotationServerUntil, stamp)
		set(pr, contract.AnnotationReason, "Ended; its model server stays until "+stamp)
	})
}

// keepNoMore takes the mark off a run whose server stays no longer.
func (r *Reconciler) keepNoMore(ctx context.Context, pr *tektonv1.PipelineRun) error {
	if pr.Annotations[contract.AnnotationServerUntil] == "" {
		return nil
	}
	return r.change(ctx, pr, func(pr *tektonv1.PipelineRun) {
		pr.Annotations = maps.Clone(pr.Annotations)
		delete(pr.Annotations, contract.AnnotationServerUntil)
	})
}
