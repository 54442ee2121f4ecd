package cluster

import (
	"net/http"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/runplan/contract"
)

// TestNothingIsMadeForARunThatTheControllerHasNotLetStart: what the pod of the step says of itself does not count.
func TestNothingIsMadeForARunThatTheControllerHasNotLetStart(t *testing.T) {
	const admitted = "2026-01-01T00:00:00Z"
	for _, row := range []struct {
		name                string
		labels, annotations apitest.Object
		uid                 string // of the PipelineRun of the pod; "" = none
		unqueued            bool
		want                string // part of the refusal; "" = it may
	}{
		{name: "a run that was let start", uid: "u", annotations: apitest.Object{contract.AnnotationAdmitted: admitted}},
		{name: "one that starts past the queue", uid: "u",
			want: `bflow-controller has not admitted it; compile it with a queue, or label namespace bench with ` +
				`bflow.dev/allow-unqueued=true`},
		{name: "one that starts where no queue is needed", uid: "u", unqueued: true},
		{name: "one that the compiler has not marked, which nobody would find", uid: "u", unqueued: true,
			labels: apitest.Object{}, want: `PipelineRun "r" has no label bflow.dev/plan-hash`},
		{name: "one that was released", uid: "u", annotations: apitest.Object{contract.AnnotationAdmitted: admitted,
			contract.AnnotationReleased: admitted}, want: "has not admitted it"},
		{name: "one of another run's name", uid: "u", labels: apitest.Object{contract.LabelPlanHash: "h",
			contract.LabelRun: "other"},
			annotations: apitest.Object{contract.AnnotationAdmitted: admitted},
			want:        `PipelineRun "r" is run "other", so its param run-id must not name another run`},
		{name: "a further attempt, which has the name of the first", uid: "u",
			labels:      apitest.Object{contract.LabelPlanHash: "h", contract.LabelRun: "run"},
			annotations: apitest.Object{contract.AnnotationAdmitted: admitted}},
		{name: "a pod that names a PipelineRun which is gone", uid: "before",
			annotations: apitest.Object{contract.AnnotationAdmitted: admitted}, want: "there is another one of that name"},
		{name: "a pod of nobody", unqueued: true, want: "its pod does not belong to a PipelineRun"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := apitest.New(t, "bench")
			s.ServeRuns()
			labels := apitest.Object{}
			if row.unqueued {
				labels[contract.LabelAllowUnqueued] = "true"
			}
			s.Put("/api/v1/namespaces/bench", apitest.Object{"metadata": apitest.Object{"labels": labels}})
			run := Run{ID: "r"}
			if row.labels == nil {
				row.labels = apitest.Object{contract.LabelPlanHash: "h"}
			}
			if row.labels[contract.LabelRun] == "run" {
				run.ID = "run"
			}
			s.Put("/apis/tekton.dev/v1/namespaces/bench/pipelineruns/r",
				apitest.Object{"metadata": apitest.Object{"uid": "u", "labels": row.labels, "annotations": row.annotations}})
			if row.uid != "" {
				run.Owner = RunOf("r", 1, func(name string) string {
					return map[string]string{contract.EnvPipelineRun: "r", contract.EnvPipelineRunUID: row.uid}[name]
				}).Owner
			}
			err := connect(t, s).Admitted(t.Context(), run)
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

func TestARunThatIsGoneGetsNothing(t *testing.T) {
	s := apitest.New(t, "bench")
	s.ServeRuns()
	run := RunOf("r", 1, func(name string) string {
		return map[string]string{contract.EnvPipelineRun: "r", contract.EnvPipelineRunUID: "u"}[name]
	})
	if err := connect(t, s).Admitted(t.Context(), run); err == nil ||
		!strings.Contains(err.Error(), `PipelineRun "r" is no longer in namespace "bench"`) {
		t.Errorf("got %v", err)
	}
}

// TestWhatForbidsToAskIsSaid: people read it in bflow status.
func TestWhatForbidsToAskIsSaid(t *testing.T) {
	s := apitest.New(t, "bench")
	s.ServeRuns()
	s.Refuse(func(apitest.Request) (int, string) { return http.StatusForbidden, "pipelineruns is forbidden" })
	run := RunOf("r", 1, func(name string) string {
		return map[string]string{contract.EnvPipelineRun: "r", contract.EnvPipelineRunUID: "u"}[name]
	})
	if err := connect(t, s).Admitted(t.Context(), run); err == nil ||
		!strings.Contains(err.Error(), `checking whether run "r" was admitted: pipelineruns is forbidden`) {
		t.Errorf("got %v", err)
	}
}
