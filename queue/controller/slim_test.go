package controller

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue/capacity"
	"bflow.dev/bflow/queue/release"
	"bflow.dev/bflow/queue/retry"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// endedRun is a run of eight tasks as Tekton leaves it, which was released.
func endedRun(n int) (*tektonv1.PipelineRun, []client.Object) {
	name, at := fmt.Sprintf("chat-20261101-120000-%05d", n), metav1.NewTime(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: "bench", UID: types.UID(name + "-uid"), ResourceVersion: "1234567",
			CreationTimestamp: at,
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "controller",
				FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:status":{` + strings.Repeat(`"f:x":{},`, 200) + `"f:y":{}}}`)}}},
			Labels: map[string]string{contract.LabelPlanHash: strings.Repeat("a", 63), contract.LabelRun: name,
				contract.LabelAttempt: "1", contract.LabelTarget: "lab",
				contract.LabelManagedBy: contract.ManagedBy, contract.LabelExperiment: "chat"},
			Annotations: map[string]string{contract.AnnotationRequests: `{"bflow.dev/cluster-slot":"1","nvidia.com/gpu":"4"}`,
				contract.AnnotationAdmitted: at.Format(time.RFC3339),
				contract.AnnotationReleased: at.Format(time.RFC3339), contract.AnnotationFreed: at.Format(time.RFC3339),
				contract.AnnotationSetupKey: strings.Repeat("b", 64),
				lastApplied:                 strings.Repeat("c", 2000)}}
	}
	step := tektonv1.Step{Name: "load-gen", Image: "reg.example/bflow@sha256:" + strings.Repeat("0", 64),
		Command: []string{"/load-gen"},
		Args:    []string{"--plan", "/workspace/plan/plan.json", "--run", "$(params.run-id)", "--measurement", "0"}}
	task := tektonv1.TaskSpec{Steps: []tektonv1.Step{step}, Results: []tektonv1.TaskResult{{Name: "verdict"}},
		Workspaces: []tektonv1.WorkspaceDeclaration{{Name: "run"}, {Name: "plan"}}}
	ended := func(c apis.Condition) []apis.Condition { return append([]apis.Condition(nil), c) }
	good := apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionTrue, Reason: "Succeeded",
		Message: "All Steps have completed executing"}
	pr := &tektonv1.PipelineRun{ObjectMeta: meta(name)}
	pr.Finalizers = []string{"chains.tekton.dev/pipelinerun"}
	pr.Spec = tektonv1.PipelineRunSpec{PipelineRef: &tektonv1.PipelineRef{Name: "bflow-run-1"},
		Timeouts:        &tektonv1.TimeoutFields{Finally: &metav1.Duration{Duration: time.Minute}},
		Params:          tektonv1.Params{{Name: contract.ParamRunID, Value: *tektonv1.NewStructuredValues(name)}},
		TaskRunTemplate: tektonv1.PipelineTaskRunTemplate{ServiceAccountName: "bflow-runner"}}
	pr.Status.Conditions, pr.Status.StartTime, pr.Status.CompletionTime = ended(good), &at, &at
	pr.Status.Results = []tektonv1.PipelineRunResult{{Name: contract.ResultVerdict,
		Value: *tektonv1.NewStructuredValues("pass")}}
	pr.Status.Provenance = &tektonv1.Provenance{FeatureFlags: nil}
	pr.Status.PipelineSpec = &tektonv1.PipelineSpec{}
	var tasks []client.Object
	for _, of := range []string{"provision", "smoketest", contract.LoadGen + "-0", contract.LoadGen + "-1",
		contract.Release, "collect", "mlflow-push", contract.Finish} {
		pr.Status.PipelineSpec.Tasks = append(pr.Status.PipelineSpec.Tasks,
			tektonv1.PipelineTask{Name: of, TaskSpec: &tektonv1.EmbeddedTask{TaskSpec: task}})
		child := tektonv1.ChildStatusReference{Name: name + "-" + of, PipelineTaskName: of}
		child.APIVersion, child.Kind = "tekton.dev/v1", "TaskRun"
		pr.Status.ChildReferences = append(pr.Status.ChildReferences, child)
		tr := &tektonv1.TaskRun{ObjectMeta: meta(name + "-" + of)}
		maps.Copy(tr.Labels, map[string]string{pipeline.PipelineRunLabelKey: name, pipeline.PipelineTaskLabelKey: of})
		tr.Spec = tektonv1.TaskRunSpec{TaskSpec: &task, ServiceAccountName: "bflow-runner", PodTemplate: nil,
			Params: pr.Spec.Params, Timeout: &metav1.Duration{Duration: time.Hour},
			Workspaces: []tektonv1.WorkspaceBinding{{Name: "plan", ConfigMap: &corev1.ConfigMapVolumeSource{}},
				{Name: contract.WorkspaceRun, SubPath: "s",
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "pvc-" + name}}}}
		tr.Status.Conditions, tr.Status.PodName = ended(good), name+"-pod"
		tr.Status.StartTime, tr.Status.CompletionTime = &at, &at
		tr.Status.TaskSpec, tr.Status.Provenance = &task, &tektonv1.Provenance{}
		tr.Status.Steps = []tektonv1.StepState{{Name: "load-gen", Container: "step-load-gen", ImageID: step.Image}}
		tr.Status.Results = []tektonv1.TaskRunResult{{Name: contract.ResultVerdict,
			Value: *tektonv1.NewStructuredValues(strings.Repeat("x", 300))}}
		tasks = append(tasks, tr)
	}
	return pr, tasks
}

func TestASlimRunKeepsWhatIsRead(t *testing.T) {
	pr, tasks := endedRun(1)
	whole := pr.DeepCopy()
	slim(t, pr, tasks)
	if !pr.IsDone() || !pr.IsSuccessful() || !run.EndedAt(pr).Equal(run.EndedAt(whole)) || run.Key(pr) != run.Key(whole) ||
		!run.Released(pr) || !run.Started(pr) {
		t.Error("its end is not what it was")
	}
	if demand, err := run.Demand(pr); err != nil || len(demand) != 2 {
		t.Errorf("it asks for %v: %v", demand, err)
	}
	if pr.FinallyTimeout() == nil || len(pr.Status.Results) != 1 || len(pr.Status.ChildReferences) != len(tasks) ||
		pr.Status.ChildReferences[2].Name != tasks[2].GetName() ||
		pr.Status.ChildReferences[2].PipelineTaskName != contract.LoadGen+"-0" {
		t.Errorf("its status is %+v", pr.Status)
	}
	for _, o := range tasks {
		tr := o.(*tektonv1.TaskRun)
		if !tr.IsSuccessful() || !tr.HasStarted() || tr.Status.CompletionTime == nil || tr.Status.PodName == "" ||
			tr.Labels[pipeline.PipelineTaskLabelKey] == "" || len(tr.Spec.Workspaces) != 1 ||
			tr.Spec.Workspaces[0].PersistentVolumeClaim.ClaimName != "pvc-"+pr.Name || tr.Spec.Workspaces[0].SubPath != "s" {
			t.Errorf("task %s has workspaces %v and status %v", tr.Name, tr.Spec.Workspaces, tr.Status.Conditions)
		}
	}
	delete(pr.Annotations, contract.AnnotationReleased)
	if capacity.UseOf(pr, func(string) *tektonv1.TaskRun { return nil }) != "" {
		t.Error("it was freed, and holds devices")
	}
}

func TestOnlyARunThatIsOverLosesWhatItWasToDo(t *testing.T) {
	for name, edit := range map[string]func(*tektonv1.PipelineRun){
		"it runs":         func(pr *tektonv1.PipelineRun) { pr.Status.Conditions[0].Status = corev1.ConditionUnknown },
		"it is releasing": func(pr *tektonv1.PipelineRun) { delete(pr.Annotations, contract.AnnotationReleased) },
	} {
		pr, _ := endedRun(1)
		edit(pr)
		slim(t, pr, nil)
		if pr.Spec.TaskRunTemplate.ServiceAccountName == "" || pr.Spec.PipelineRef == nil {
			t.Errorf("%s, and its spec is %+v", name, pr.Spec)
		}
	}
	lost, _ := endedRun(1)
	lost.Annotations[run.AnnotationStopped] = run.CauseLost
	lost.Status.Conditions[0].Status = corev1.ConditionFalse
	slim(t, lost, nil)
	if !retry.Due(lost) {
		t.Error("a run that lost its target gets no other attempt")
	}
}

func TestASlimTaskTellsWhichRunItEnds(t *testing.T) {
	tr := &tektonv1.TaskRun{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{release.AnnotationFinishes: "r", "x": "y"}},
		Spec: tektonv1.TaskRunSpec{Status: tektonv1.TaskRunSpecStatusCancelled, StatusMessage: "why"}}
	slim(t, &tektonv1.PipelineRun{}, []client.Object{tr})
	if len(tr.Annotations) != 1 || tr.Annotations[release.AnnotationFinishes] != "r" || !tr.IsCancelled() ||
		tr.Spec.StatusMessage != "why" {
		t.Errorf("it is %+v", tr)
	}
}

// TestAnEndedRunTakesLittleMemory: the controller has 512 MiB, and thousands of runs are there for a month.
func TestAnEndedRunTakesLittleMemory(t *testing.T) {
	const runs, most = 500, 24 << 10
	whole, left := bytesPerRun(t, runs, false), bytesPerRun(t, runs, true)
	t.Logf("an ended run with its tasks takes %d bytes in the cache, of %d", left, whole)
	if left > most {
		t.Errorf("it takes %d bytes, want at most %d", left, most)
	}
}

// bytesPerRun decodes runs as a watch does, and counts what stays.
func bytesPerRun(t *testing.T, runs int, slimmed bool) int64 {
	t.Helper()
	pr, tasks := endedRun(1)
	text, err := json.Marshal(pr)
	if err != nil {
		t.Fatal(err)
	}
	var texts [][]byte
	for _, o := range tasks {
		task, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, task)
	}
	kept := make([]any, 0, runs*(1+len(texts)))
	before := live()
	for range runs {
		pr := decode(t, text, &tektonv1.PipelineRun{})
		var tasks []client.Object
		for _, text := range texts {
			tasks = append(tasks, decode(t, text, &tektonv1.TaskRun{}))
		}
		if slimmed {
			slim(t, pr, tasks)
		}
		kept = append(kept, pr, tasks)
	}
	took := live() - before
	runtime.KeepAlive(kept)
	return took / int64(runs)
}

func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func decode[T any](t *testing.T, text []byte, into *T) *T {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
	return into
}

func slim(t *testing.T, pr *tektonv1.PipelineRun, tasks []client.Object) {
	t.Helper()
	if _, err := slimRun(pr); err != nil {
		t.Fatal(err)
	}
	for _, o := range tasks {
		if _, err := slimTask(o); err != nil {
			t.Fatal(err)
		}
	}
}
