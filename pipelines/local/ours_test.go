package local

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/runplan/contract"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

const oursRun = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {generateName: bench-}
spec:
  status: PipelineRunPending
  timeouts: {pipeline: 4h, tasks: 3h, finally: 1h}
  pipelineRef: {name: bench}
  params: [{name: run-id, value: $(context.pipelineRun.name)}, {name: attempt, value: "1"}]
  workspaces:
  - {name: plan, configMap: {name: plan}}
  - {name: run, volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: plan}
immutable: true
data: {plan.json: "{}"}
`

// TestThePipelineOfARunRunsHere executes the Tasks and the Pipeline that plans compile to, with programs that only note
// how they were called.
func TestThePipelineOfARunRunsHere(t *testing.T) {
	images := map[string]string{}
	for _, name := range contract.Binaries() {
		images[name] = "registry.example/bflow/" + name
	}
	tasks, err := pipelines.Tasks(pipelines.Release{Version: "v0.0.0", Images: images})
	if err != nil {
		t.Fatal(err)
	}
	shape := pipelines.Shape{
		Loads: make([]pipelines.Load, 2), Teardown: true, TeardownDeadline: time.Minute, FinalizeDeadline: time.Minute,
	}
	o := testOptions(hostRoot(t), filepath.Join(t.TempDir(), "run"))
	o.HostImages, o.Env = nil, append(o.Env, noteCalls+"=1")
	o.PassEnv = append(o.PassEnv, noteCalls)
	o.Objects = parse(t, oursRun)
	o.Objects.Tasks = tasks
	o.Objects.Pipelines = []*v1.Pipeline{
		pipelines.New("bench", "v0.0.0", shape, func(name string) *v1.TaskRef { return &v1.TaskRef{Name: name} }),
	}
	s, err := Run(t.Context(), o)
	if err != nil || s.State != Succeeded || s.Results[contract.ResultVerdict].StringVal != "noted" {
		t.Fatalf("ended as %+v, %v", s, err)
	}
	got := strings.Split(strings.TrimSpace(read(t, filepath.Join(s.RunDir, "notes"))), "\n")
	want := []string{
		"provision up", "smoketest", "load-gen --measurement=0", "load-gen --measurement=1", "provision release", "collect",
		"mlflow-push push", "mlflow-push verdict", "provision down", "mlflow-push finalize --status=Succeeded",
		"provision summary --status=Succeeded",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("calls:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
