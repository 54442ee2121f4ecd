package capacity

import (
	"context"
	"fmt"
	"slices"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Owner returns whose a pod is. Runs own their pods while they hold quota: from when they were let start until their
// devices were given back. Pods of a run that has none are foreign, be it one without a queue or one that was
// released by force and left something behind: so are pods that another hub made. What a run of this hub left that is
// over and has no right to anything is leaked.
func Owner(ctx context.Context, cache client.Reader, identity string) (devices.Owner, error) {
	var list tektonv1.PipelineRunList
	if err := cache.List(ctx, &list, client.MatchingFields{run.Index: run.Anywhere},
		client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the runs that hold quota: %w", err)
	}
	holding := map[types.NamespacedName]bool{}
	for i := range list.Items {
		if pr := &list.Items[i]; !run.Freed(pr) {
			holding[run.Key(pr)] = true
		}
	}
	return func(namespace string, labels map[string]string) devices.Holder {
		key, hub := types.NamespacedName{Namespace: namespace, Name: labels[contract.LabelRun]}, labels[contract.LabelHub]
		switch {
		case hub != "" && identity != "" && hub != identity:
			return devices.Holder{}
		case holding[key]:
			return devices.Holder{Run: key}
		case hub != "" && labels[contract.LabelRelease] != "" && !alive(ctx, cache, key):
			return devices.Holder{Leaked: true}
		default:
			return devices.Holder{}
		}
	}, nil
}

// alive says whether a run is not over, or has a right to its quota still; also where that cannot be known.
func alive(ctx context.Context, cache client.Reader, key types.NamespacedName) bool {
	var list tektonv1.PipelineRunList
	if err := cache.List(ctx, &list, client.InNamespace(key.Namespace), client.MatchingFields{run.IndexID: key.Name},
		client.UnsafeDisableDeepCopy); err != nil {
		return true
	}
	return slices.ContainsFunc(list.Items, func(pr tektonv1.PipelineRun) bool {
		return run.Ours(&pr) && (!run.Over(&pr) || run.Holding(&pr))
	})
}
