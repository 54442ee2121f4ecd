package compile

import (
	"testing"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/tasks/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// bundleTasks is what a bundle of this version holds.
func bundleTasks(t *testing.T) []*tektonv1.Task {
	t.Helper()
	images := map[string]string{}
	for _, binary := range contract.Binaries() {
		images[binary] = "reg.example/bflow/" + binary
	}
	tasks, err := pipelines.Tasks(pipelines.Release{Version: "v0.1.0", Images: images})
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}
