package cluster

import (
	"context"

	"bflow.dev/bflow/internal/kube"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// details complete the status of a run by what other objects than its own say. What may not be read stays unknown.
type details struct {
	*Status
	api *kube.Client
}

// tasks adds what only logs and pods tell of the tasks of a run. known holds the last words that have been looked up
// before, by TaskRun.
func (d details) tasks(ctx context.Context, runs []tektonv1.TaskRun, known map[string]string) {
	d.lastWords(ctx, runs, known)
	d.noNodes(ctx, runs)
}
