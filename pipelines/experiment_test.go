package pipelines_test

import (
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

func makeExperiment(t *testing.T) (*tektonv1.Task, *tektonv1.Pipeline) {
	t.Helper()
	task, pipeline, err := pipelines.Experiment(pipelines.Release{
		Version: "v0.1.0", Images: map[string]string{"bflow": "reg.example/bflow:v0.1.0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return task, pipeline
}

// TestAnExperimentIsNoArgument: it may hold credentials, and arguments can be seen by everybody who sees the pod.
func TestAnExperimentIsNoArgument(t *testing.T) {
	task, pipeline := makeExperiment(t)
	if len(task.Spec.Params)+len(pipeline.Spec.Tasks[0].Params) > 0 {
		t.Error("a param goes to the Task")
	}
	for _, step := range task.Spec.Steps {
		for _, arg := range step.Args {
			if strings.Contains(arg, "$(params.") {
				t.Errorf("argument %q", arg)
			}
		}
		for _, env := range step.Env {
			if strings.Contains(env.Value, "$(params.") {
				t.Errorf("variable %s", env.Name)
			}
		}
	}
}

// TestAFormCanBeFilledIn: consoles and tkn show what is said here, and ask for what has no default.
func TestAFormCanBeFilledIn(t *testing.T) {
	task, pipeline := makeExperiment(t)
	var names []string
	for _, p := range pipeline.Spec.Params {
		names = append(names, p.Name)
		if p.Description == "" || p.Default == nil || p.Type != tektonv1.ParamTypeString {
			t.Errorf("param %s: description %q, default %v", p.Name, p.Description, p.Default)
		}
	}
	if want := []string{"experiment", "git-url", "revision", "path", "overrides", "trusted-only", "wait", "load-cpu",
		"bundle"}; !slices.Equal(names, want) {
		t.Errorf("params %v, want %v: Triggers and people name them", names, want)
	}
	if timeout := pipeline.Spec.Tasks[0].Timeout; timeout == nil || timeout.Duration != 0 {
		t.Errorf("timeout %v of the task: an hour is Tekton's, whatever the PipelineRun says", timeout)
	}
	if len(pipeline.Spec.Workspaces) > 0 {
		t.Error("a form would ask for a workspace")
	}
	for i, want := range []string{contract.ResultVerdict, contract.ResultRuns, contract.ResultPlanHashes} {
		if r := pipeline.Spec.Results[i]; r.Name != want || r.Description == "" || task.Spec.Results[i].Name != want {
			t.Errorf("result %v, want %s", r, want)
		}
	}
	for _, o := range []interface{ GetAnnotations() map[string]string }{task, pipeline} {
		for _, name := range []string{"tekton.dev/pipelines.minVersion", "tekton.dev/categories", "tekton.dev/displayName"} {
			if o.GetAnnotations()[name] == "" {
				t.Errorf("no annotation %s", name)
			}
		}
	}
}
