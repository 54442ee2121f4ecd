package overlays_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"

	"bflow.dev/bflow/bootstrap/overlays"
	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/pipelines/check"
	"bflow.dev/bflow/runplan/contract"

	"sigs.k8s.io/yaml"
)

// TestTheTemplateFitsThePipeline: what Triggers creates sets only params of Pipeline bflow-experiment, passes the
// checks of Tekton, and names who has started it where the task looks for that.
func TestTheTemplateFitsThePipeline(t *testing.T) {
	var template struct {
		Spec struct{ ResourceTemplates []json.RawMessage }
	}
	if err := yaml.Unmarshal(documents(t, overlays.FS, "components/triggers/template.yaml")[1], &template); err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`\$\(tt\.params\.[a-z-]+\)`).ReplaceAll(template.Spec.ResourceTemplates[0], []byte("x"))
	bundle, err := pipelines.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	task, pipeline, err := pipelines.Experiment(pipelines.Release{Version: "v0.1.0",
		Images: map[string]string{"bflow": "reg.example/bflow:v0.1.0"}})
	if err != nil {
		t.Fatal(err)
	}
	bundle.Tasks, bundle.Pipelines = append(bundle.Tasks, task), append(bundle.Pipelines, pipeline)
	checker, err := check.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := checker.Bundle(bundle); err != nil {
		t.Error(err)
	}
	run := bundle.PipelineRuns[0]
	if run.Spec.TaskRunTemplate.ServiceAccountName != contract.AccountSubmit ||
		run.Annotations[contract.AnnotationStarted] == "" {
		t.Errorf("it runs as %q, started by %q", run.Spec.TaskRunTemplate.ServiceAccountName,
			run.Annotations[contract.AnnotationStarted])
	}
}
