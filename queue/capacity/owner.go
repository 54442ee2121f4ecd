package capacity

import (
	"context"
	"fmt"
	"slices"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/tasks/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Owner returns whose a pod is. Runs own their pods while they hold quota: from when they were let start until their
// devices were given back. Pods of a run that has none are foreign, be it one without a queue or one that was released
// by force and left something behind: so are pods that another hub made. What a run of this hub left that is over and has
// no right to anything is leaked.
func Owner(ctx context.Context, cache client.Reader, identity string) (devices.Owner, error) {
	var list tektonv1.PipelineRunList
	if err := cache.List(ctx, &list, client.MatchingFields{run.Index: run.Anywhere}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the runs that hold quota: %w", err)
	}
	holding := map[string]bool{}
	for i := range list.Items {
		if pr := &list.Items[i]; !run.Freed(pr) {
			holding[run.ID(pr)] = true
		}
	}
	return func(labels map[string]string) string {
		id, hub := labels[contract.LabelRun], labels[contract.LabelHub]
		switch {
		case hub != "" && identity != "" && hub != identity:
			return ""
		case holding[id]:
			return id
		case hub != "" && labels[contract.LabelRelease] != "" && !alive(ctx, cache, id):
			return devices.Leaked
		default:
			return ""
		}
	}, nil
}

// alive says whether a run is not over, or has a right to its quota still; also where that cannot be known.
func alive(ctx context.Context, cache client.Reader, id string) bool {
	var list tektonv1.PipelineRunList
	if err := cache.List(ctx, &list, client.MatchingFields{run.IndexID: id}, client.UnsafeDisableDeepCopy); err != nil {
		return true
	}
	return slices.ContainsFunc(list.Items, func(pr tektonv1.PipelineRun) bool {
		return run.Ours(&pr) && (!run.Over(&pr) || run.Holding(&pr))
	})
}
