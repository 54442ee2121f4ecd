package release

import (
	"context"

	"bflow.dev/bflow/queue/gc"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
)

// leftovers lists what is left of a run on its target.
func (r *Reconciler) leftovers(ctx context.Context, t target.Target, pr *tektonv1.PipelineRun) ([]gc.Object, error) {
	return gc.List(ctx, t.Live, t.Name, r.opts.Hub, pr.Namespace, gc.ByRun(run.ID(pr)))
}

// remove deletes what is left.
func (r *Reconciler) remove(ctx context.Context, t target.Target, pr *tektonv1.PipelineRun, left []gc.Object) error {
	return gc.Delete(ctx, t.Live, left, func(o gc.Object) {
		r.opts.Metrics.Leftovers.WithLabelValues(t.Name, o.Kind).Inc()
		r.events.Eventf(pr, nil, corev1.EventTypeNormal, "DeletedLeftover", "Release",
			"Deleted %s, which the run had left on target %s", o, t.Name)
	})
}

// waitsFor is what keeps the run from its release, in words; nil when nothing does.
func waitsFor(w work, left []gc.Object, finishing string) []string {
	var waits []string
	for _, o := range left {
		waits = append(waits, o.String())
	}
	for _, pod := range w.pods {
		waits = append(waits, "task pod "+pod)
	}
	if finishing != "" {
		waits = append(waits, finishing)
	}
	return waits
}
