//go:build e2e

package cluster

import (
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"bflow.dev/bflow/runplan/contract"
)

const threePoints = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: three}
spec:
  namespace: benchflow
  model: {name: demo/tiny}
  deployment_profile: sim
  stages: {collect: false}
  overrides: {runtime: {resources: {limits: {nvidia.com/gpu: "4"}}}}
  matrix: {repeat: 3}
  load: {data: {input: 8, output: 4}, stages: [{rate: 5, duration: 2m}]}
`

// TestAMatrixThatIsCancelledOutrightIsSummedUp does what tkn pipelinerun cancel does: Tekton runs none of its finally
// tasks, so the controller starts the last one. Its MLflow run ends too.
func TestAMatrixThatIsCancelledOutrightIsSummedUp(t *testing.T) {
	l := newLab(t, runs(2))
	parent := submitThreePoints(l)
	patch := []byte(`{"spec":{"status":"Cancelled"}}`)
	if _, err := l.api.Resource(pipelineRuns).Namespace(namespace).Patch(t.Context(), parent, types.MergePatchType,
		patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	l.await(10*time.Minute, "the last task of "+parent, func() string {
		task, err := l.get(taskRuns, parent+"-aggregate-again")
		if err != nil {
			return err.Error()
		}
		if status, reason := condition(task); status != "True" {
			return "it has not succeeded: " + reason
		}
		return ""
	})
	for _, c := range l.list(pipelineRuns, "bflow.dev/matrix="+parent) {
		l.of(c.GetName()).nothingLeft(beforeForce)
	}
	if open := l.of(parent).trackedOpen(); len(open) > 0 {
		t.Errorf("left open: %v", open)
	}
}

// TestADeletedMatrixGoesWithAllItMade once its last task has run, which ends its MLflow run.
func TestADeletedMatrixGoesWithAllItMade(t *testing.T) {
	l := newLab(t, runs(2))
	parent := submitThreePoints(l)
	if os.Getenv("BFLOW_E2E_MLFLOW") != "" && len(l.of(parent).trackedOpen()) == 0 {
		t.Error("the matrix has no open MLflow run to be ended")
	}
	l.must("delete", "--force", parent)
	for _, c := range []struct {
		kind     schema.GroupVersionResource
		selector string
	}{
		{pipelineRuns, "bflow.dev/matrix=" + parent}, {configMaps, "bflow.dev/matrix=" + parent},
		{taskRuns, "tekton.dev/pipelineRun=" + parent},
	} {
		l.await(10*time.Minute, c.kind.Resource+" of "+parent+" to go", func() string {
			for _, o := range l.list(c.kind, c.selector) {
				return o.GetName() + " is there"
			}
			return ""
		})
	}
	if open := l.of(parent).trackedOpen(); len(open) > 0 {
		t.Errorf("left open: %v", open)
	}
}

// TestPipelineExperimentMakesAMatrixOfSeveralPoints: its result names the matrix, whose points run one at a time where
// the experiment says so.
func TestPipelineExperimentMakesAMatrixOfSeveralPoints(t *testing.T) {
	l := newLab(t)
	started := l.starts(map[string]string{
		contract.ParamExperiment: brief, contract.ParamOverrides: "load.data.output=[4, 8]\nmatrix.max_parallel=1",
	})
	parent := l.of(started).child()
	l.of(started).waitForEnd(20 * time.Minute)
	said := l.of(started).results()
	if !measured(said[contract.ResultVerdict]) || said[contract.ResultRuns] != parent ||
		strings.Count(said[contract.ResultPlanHashes], ",") != 1 {
		t.Fatalf("results %v of matrix %s, log:\n%s", said, parent, l.tkn("pipelinerun", "logs", started))
	}
	if points := l.list(pipelineRuns, contract.LabelMatrix+"="+parent); len(points) != 2 {
		t.Fatalf("%s has %d runs, want 2", parent, len(points))
	}
	first, second := l.run(parent+"-00001"), l.run(parent+"-00002")
	over, _, _ := unstructured.NestedString(first.Object, "status", "completionTime")
	if begun := second.GetCreationTimestamp().UTC().Format(time.RFC3339); begun < over {
		t.Errorf("the second run was made at %s, before the first ended at %s", begun, over)
	}
	for _, run := range []string{first.GetName(), second.GetName()} {
		l.of(run).nothingLeft(beforeForce)
	}
}

// submitThreePoints submits a matrix, and returns when its first run is under load.
func submitThreePoints(l *lab) (parent string) {
	l.t.Helper()
	parent = l.submit(l.write("three.yaml", threePoints))[0]
	first := parent + "-00001"
	l.await(10*time.Minute, first, func() string {
		_, err := l.get(pipelineRuns, first)
		if apierrors.IsNotFound(err) {
			return "it is not made"
		}
		if err != nil {
			return err.Error()
		}
		return ""
	})
	during("load-gen-0")(l, first)
	return parent
}
