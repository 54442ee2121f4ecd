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

// neighbours looks for the runs that a waiting one waits for. What may not be read is not told.
func (c *Cluster) neighbours(ctx context.Context, s *Status) {
	if s.Queue == nil || s.State != local.Pending {
		return
	}
	var near Neighbours
	sel := kube.Labels(contract.LabelQueue + "=" + s.Queue.Name)
	all, err := kube.List[tektonv1.PipelineRun](ctx, c.api, pipelineRuns("", ""), sel)
	if apierrors.IsForbidden(err) {
		near.Hidden = true
		all, err = kube.List[tektonv1.PipelineRun](ctx, c.api, pipelineRuns(s.Namespace, ""), sel)
	}
	if err != nil {
		return
	}
	for i := range all {
		pr := &all[i]
		next := neighbour(pr)
		switch q := queueOf(pr); {
		case queuerun.ID(pr) == s.RunID && pr.Namespace == s.Namespace:
		case !q.Admitted.IsZero() && q.Freed.IsZero() && q.Released.IsZero():
			next.Since, next.Ending, next.Place = q.Admitted, pr.IsDone(), 0
			near.Holders = append(near.Holders, next)
		case next.Place > 0 && next.Place < s.Queue.Position:
			near.Before = append(near.Before, next)
		}
	}
	slices.SortFunc(near.Holders, func(a, b Neighbour) int { return a.Since.Compare(b.Since) })
	slices.SortFunc(near.Before, func(a, b Neighbour) int { return a.Place - b.Place })
	s.Queue.Neighbours = &near
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
