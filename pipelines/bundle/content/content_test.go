package content

import (
	"testing"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/pipelines/check"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func makeObjects(t *testing.T, version string) []runtime.Object {
	t.Helper()
	images := map[string]string{}
	for _, binary := range append(contract.Binaries(), "bflow") {
		images[binary] = "reg.example/bflow/" + binary + ":" + version
	}
	objects, err := Objects(pipelines.Release{Version: version, Images: images})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestPipelinesOfABundleStandAlone(t *testing.T) {
	checker, err := check.New()
	if err != nil {
		t.Fatal(err)
	}
	var b pipelines.Bundle
	names := map[string]bool{}
	for _, object := range makeObjects(t, "v0.1.0") {
		switch o := object.(type) {
		case *tektonv1.Task:
			b.Tasks = append(b.Tasks, o)
		case *tektonv1.Pipeline:
			b.Pipelines = append(b.Pipelines, o)
			names[o.Name] = true
			for _, task := range append(o.Spec.Tasks, o.Spec.Finally...) {
				if task.TaskRef != nil || task.TaskSpec == nil {
					t.Errorf("%s: task %s refers to something outside", o.Name, task.Name)
				}
			}
		}
	}
	if err := checker.Bundle(b); err != nil {
		t.Error(err)
	}
	if len(b.Tasks) != 12 || !names[contract.Experiment] || len(names) != len(Shapes())+1 || len(b.Tasks)+len(names) > 20 {
		t.Errorf("%d tasks, %d pipelines of %d shapes", len(b.Tasks), len(names), len(Shapes()))
	}
	for _, s := range Shapes() {
		if !names[PipelineName("v0.1.0", s)] || !Has(s) {
			t.Errorf("no Pipeline of shape %s", text(s))
		}
	}
}

func TestAPipelineOfAnotherVersionOrShapeHasAnotherName(t *testing.T) {
	s := Shapes()[0]
	if PipelineName("v0.1.0", s) == PipelineName("v0.2.0", s) {
		t.Error("two versions share a name")
	}
	s.APIKey.Name = "key"
	if PipelineName("v0.1.0", s) == PipelineName("v0.1.0", Shapes()[0]) || Has(s) {
		t.Error("two shapes share a name")
	}
}

func TestWhatRunsOfABundleCanBeResumedLikeTheTasks(t *testing.T) {
	for _, object := range makeObjects(t, "v0.1.0") {
		p, ok := object.(*tektonv1.Pipeline)
		if !ok || p.Name == contract.Experiment {
			continue
		}
		if got := p.Spec.Tasks[0].TaskSpec.Metadata.Annotations[contract.AnnotationResume]; got != contract.ResumeRepeat {
			t.Errorf("%s: task provision says %q", p.Name, got)
		}
	}
}
