package cluster

import (
	"context"
	"encoding/json"
	"slices"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/pipelines/local"
	queuerun "bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// neighbours looks for the runs that a waiting one waits for.
func (d details) neighbours(ctx context.Context) {
	if d.Queue == nil || d.State != local.Pending {
		return
	}
	var near Neighbours
	sel := kube.Labels(contract.LabelQueue + "=" + d.Queue.Name)
	all, err := kube.List[tektonv1.PipelineRun](ctx, d.api, pipelineRuns("", ""), sel)
	if apierrors.IsForbidden(err) {
		near.Hidden = true
		all, err = kube.List[tektonv1.PipelineRun](ctx, d.api, pipelineRuns(d.Namespace, ""), sel)
	}
	if err != nil {
		return
	}
	for i := range all {
		pr := &all[i]
		next := neighbour(pr)
		switch q := queueOf(pr); {
		case queuerun.ID(pr) == d.RunID && pr.Namespace == d.Namespace:
		case !q.Admitted.IsZero() && q.Freed.IsZero() && q.Released.IsZero():
			next.Since, next.Ending, next.Place = q.Admitted, pr.IsDone(), 0
			near.Holders = append(near.Holders, next)
		case next.Place > 0 && next.Place < d.Queue.Position:
			near.Before = append(near.Before, next)
		}
	}
	slices.SortFunc(near.Holders, func(a, b Neighbour) int { return a.Since.Compare(b.Since) })
	slices.SortFunc(near.Before, func(a, b Neighbour) int { return a.Place - b.Place })
	d.Queue.Neighbours = &near
}

func neighbour(pr *tektonv1.PipelineRun) Neighbour {
	n := Neighbour{Run: queuerun.ID(pr), Namespace: pr.Namespace, Since: pr.CreationTimestamp.UTC(),
		Place: placeIn(pr.Annotations[contract.AnnotationReason])}
	_ = json.Unmarshal([]byte(pr.Annotations[contract.AnnotationRequests]), &n.Requests) // the controller judges it
	if pr.Spec.Status != tektonv1.PipelineRunSpecStatusPending {
		n.Place = 0
	}
	return n
}
