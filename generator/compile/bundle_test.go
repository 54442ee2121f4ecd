package compile

import (
	"testing"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/pipelines/bundle/content"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// addBundle adds what a bundle of a development version holds.
func addBundle(t *testing.T, b *pipelines.Bundle) {
	t.Helper()
	images := map[string]string{}
	for _, binary := range append(contract.Binaries(), "bflow") { // the last for Pipeline bflow-experiment
		images[binary] = "reg.example/bflow/" + binary
	}
	objects, err := content.Objects(pipelines.Release{Version: "dev", Images: images})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		switch o := object.(type) {
		case *tektonv1.Task:
			b.Tasks = append(b.Tasks, o)
		case *tektonv1.Pipeline:
			b.Pipelines = append(b.Pipelines, o)
		}
	}
}
