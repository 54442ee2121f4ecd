package cluster

import (
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/runs/progress"
)

func TestARunOfAClusterLeavesALineOfEachStage(t *testing.T) {
	var out strings.Builder
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	display := progress.New(&out, screen.Screen{}, 1, func() time.Time { return at })
	f := newRunDisplay(display, []*Run{{ID: "r"}}, nil)
	changed := func(state local.State) {
		task := local.Task{Name: "load-gen-0", State: state, Started: at}
		if state.Done() {
			task.Finished = at.Add(10 * time.Second)
		}
		f.Changed(Status{Status: local.Status{RunID: "r", State: local.Running, Alive: true, Tasks: []local.Task{task}}})
	}
	changed(local.Running)
	f.Progress("r", "load-gen-0", report.Progress{Name: "rate-20", Stages: 1, Measure: true, ElapsedS: 5, Done: 100})
	changed(local.Succeeded)
	display.Close()
	if got := out.String(); !strings.Contains(got, "stage 1/1 rate-20  5 s  100 ok  0 errors\n") {
		t.Errorf("it shows:\n%s", got)
	}
}

func TestEachNamespaceThatRunsWentToIsNamed(t *testing.T) {
	var out, err strings.Builder
	submitted := []*Run{{ID: "a", Namespace: "bench"}, {ID: "b", Namespace: "bench"}, {ID: "c", Namespace: "team"}}
	printSubmitted(runs.Console{Out: &out, Err: &err}, &Cluster{Name: "hub"}, submitted, true)
	want := "submitted to namespace bench of cluster hub\nsubmitted to namespace team of cluster hub\n"
	if err.String() != want {
		t.Errorf("it says %q, want %q", err.String(), want)
	}
	if want := "a\nb\nc\n"; out.String() != want {
		t.Errorf("it prints %q, want %q", out.String(), want)
	}
}
