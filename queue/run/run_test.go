package run_test

import (
	"testing"
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/apis"
)

type edit func(*tektonv1.PipelineRun)

func makeRun(edits ...edit) *tektonv1.PipelineRun {
	pr := &tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Name: "r", Labels: map[string]string{},
		Annotations: map[string]string{}}}
	for _, e := range edits {
		e(pr)
	}
	return pr
}

func status(s tektonv1.PipelineRunSpecStatus) edit {
	return func(pr *tektonv1.PipelineRun) { pr.Spec.Status = s }
}

func annotated(key string) edit {
	return func(pr *tektonv1.PipelineRun) { pr.Annotations[key] = "2026-01-01T00:00:00Z" }
}

func done(pr *tektonv1.PipelineRun) {
	pr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: "False", Reason: "Cancelled"})
	pr.Status.CompletionTime = &metav1.Time{Time: time.Unix(200, 0)}
}

func deleted(pr *tektonv1.PipelineRun) { pr.DeletionTimestamp = &metav1.Time{Time: time.Unix(100, 0)} }

func withChild(pr *tektonv1.PipelineRun) {
	pr.Status.ChildReferences = []tektonv1.ChildStatusReference{{Name: "r-provision"}}
}

func startTime(pr *tektonv1.PipelineRun) { pr.Status.StartTime = &metav1.Time{Time: time.Unix(1, 0)} }

func TestWhereARunIsInItsLife(t *testing.T) {
	pending := status(tektonv1.PipelineRunSpecStatusPending)
	for _, row := range []struct {
		name             string
		pr               *tektonv1.PipelineRun
		state            string
		started, holding bool
	}{
		{"a pending run is queued", makeRun(pending), "queued", false, false},
		{"a queued run that was cancelled never started, whatever its start time says",
			makeRun(status(tektonv1.PipelineRunSpecStatusCancelled), done, startTime), "done", false, false},
		{"a run that was let start holds its quota before it has a task",
			makeRun(annotated(contract.AnnotationAdmitted)), "running", true, true},
		{"a run that somebody else let start holds, once it has a task", makeRun(withChild), "running", true, true},
		{"a done run holds until it is released",
			makeRun(annotated(contract.AnnotationAdmitted), done), "releasing", true, true},
		{"a released run holds nothing",
			makeRun(annotated(contract.AnnotationAdmitted), annotated(contract.AnnotationReleased), done), "done", true, false},
		{"a deleted run that has begun is released like a done one",
			makeRun(annotated(contract.AnnotationAdmitted), deleted), "releasing", true, true},
		{"a deleted run that has not begun is gone", makeRun(pending, deleted), "done", false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := run.State(row.pr); got != row.state {
				t.Errorf("state %q, want %q", got, row.state)
			}
			if run.Started(row.pr) != row.started || run.Holding(row.pr) != row.holding {
				t.Errorf("started %v, holding %v", run.Started(row.pr), run.Holding(row.pr))
			}
		})
	}
}

func TestARunIsOverAtTheFirstOfItsEnds(t *testing.T) {
	for _, row := range []struct {
		name string
		pr   *tektonv1.PipelineRun
		want int64
	}{
		{"done", makeRun(done), 200},
		{"deleted", makeRun(deleted), 100},
		{"deleted, then done", makeRun(done, deleted), 100},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := run.EndedAt(row.pr).Unix(); got != row.want {
				t.Errorf("got %d, want %d", got, row.want)
			}
		})
	}
	if !run.EndedAt(makeRun()).IsZero() {
		t.Error("a run that goes on has no end")
	}
}

func TestPodsTakeWhatTheRunRequests(t *testing.T) {
	const mismatch = `annotation "bflow.dev/pods" does not share out the devices of annotation "bflow.dev/requests", ` +
		`which are `
	for _, row := range []struct{ name, requests, pods, want string }{
		{"all of it", `{"nvidia.com/gpu":"8","bflow.dev/cluster-slot":"1"}`,
			`[{"count":2,"requests":{"nvidia.com/gpu":"4"}}]`, ""},
		{"nothing is said of pods", `{"nvidia.com/gpu":"8"}`, ``, ""},
		{"no devices", `{"bflow.dev/cluster-slot":"1"}`, `[]`, ""},
		{"no pods", `{"nvidia.com/gpu":"8"}`, `[]`, mismatch + "8 nvidia.com/gpu; submit the run as bflow compiles it"},
		{"fewer", `{"nvidia.com/gpu":"8"}`, `[{"count":1,"requests":{"nvidia.com/gpu":"4"}}]`,
			mismatch + "8 nvidia.com/gpu; submit the run as bflow compiles it"},
		{"more", `{}`, `[{"count":1,"requests":{"nvidia.com/gpu":"4"}}]`,
			mismatch + "no devices; submit the run as bflow compiles it"},
		{"more than a number holds", `{"nvidia.com/gpu":"4"}`,
			`[{"count":4611686018427387905,"requests":{"nvidia.com/gpu":"4"}}]`,
			mismatch + "4 nvidia.com/gpu; submit the run as bflow compiles it"},
	} {
		t.Run(row.name, func(t *testing.T) {
			pr := makeRun()
			pr.Annotations[contract.AnnotationRequests], pr.Annotations[contract.AnnotationPods] = row.requests, row.pods
			_, err := run.Shapes(pr)
			if (err == nil) != (row.want == "") || err != nil && err.Error() != row.want {
				t.Errorf("got error %v, want %q", err, row.want)
			}
		})
	}
}

func TestDemand(t *testing.T) {
	for _, row := range []struct{ name, annotation, want string }{
		{"resources by name", `{"nvidia.com/gpu":"4","bflow.dev/cluster-slot":"1"}`, ""},
		{"nothing", ``, ""},
		{"no JSON", `4 GPUs`,
			`reading annotation "bflow.dev/requests": invalid character 'G' after top-level value; want JSON such as ` +
				`{"nvidia.com/gpu":"4"}`},
		{"no quantity", `{"nvidia.com/gpu":"four"}`,
			`reading annotation "bflow.dev/requests": nvidia.com/gpu: "four" is not a quantity`},
		{"more than any cluster has", `{"nvidia.com/gpu":"100000000"}`,
			`reading annotation "bflow.dev/requests": nvidia.com/gpu: "100000000" is more than the 1000000 devices that a ` +
				`run may ask for; ask for what one run needs`},
		{"a number of a billion digits", `{"memory":"1e999999999"}`,
			`reading annotation "bflow.dev/requests": memory: "1e999999999" is too long, or its exponent is beyond 18; ` +
				`write it as a plain number`},
		{"less than nothing", `{"nvidia.com/gpu":"-4"}`,
			`reading annotation "bflow.dev/requests": nvidia.com/gpu: "-4" is below zero`},
	} {
		t.Run(row.name, func(t *testing.T) {
			pr := makeRun()
			pr.Annotations[contract.AnnotationRequests] = row.annotation
			demand, err := run.Demand(pr)
			if (err == nil) != (row.want == "") || err != nil && err.Error() != row.want {
				t.Fatalf("got error %v, want %q", err, row.want)
			}
			if gpus := demand["nvidia.com/gpu"]; row.name == "resources by name" && gpus.Value() != 4 {
				t.Errorf("got %v", demand)
			}
		})
	}
}
