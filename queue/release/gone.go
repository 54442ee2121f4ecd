package release

import (
	"context"
	"time"

	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// viewSettleTime is how long a target must have answered before its view is believed to show no pod: a watch that an
// outage has cut without a word is made anew by then.
const viewSettleTime = 2 * time.Minute

// vacancies is a sight that tells what is left in a namespace without any right there.
type vacancies interface {
	Vacant(ctx context.Context, namespace string, ours func(labels map[string]string) bool) (bool, error)
}

var _ vacancies = (*view.Target)(nil)

// gone says whether err is the answer of a target where a namespace of runs was deleted, and the rights there with
// it: nothing can be deleted in it any more, and nothing has to be. That is so only where the API server itself
// refuses, and what is seen of all namespaces shows no pod of this hub in that one, and no account whose tokens could
// make any.
func (s *Sweeper) gone(ctx context.Context, t target.Target, namespace string, err error) bool {
	sight, sees := t.Sight.(vacancies)
	if !sees || namespace == "" || !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
		return false
	}
	if reach := t.Sight.Reach(); !reach.Up || s.opts.Clock.Since(reach.Since) < viewSettleTime {
		return false
	}
	vacant, unseen := sight.Vacant(ctx, namespace, s.ours)
	if unseen != nil || !vacant {
		return false
	}
	s.opts.Log.Info("nothing is owed in a namespace that is gone", "target", t.Name, "namespace", namespace, "because",
		err.Error())
	return true
}

// ours says whether a pod may be one of a run of this hub. One that names no hub may be.
func (s *Sweeper) ours(labels map[string]string) bool {
	hub := labels[contract.LabelHub]
	return labels[contract.LabelRun] != "" && (hub == "" || s.opts.Hub == "" || hub == s.opts.Hub)
}
