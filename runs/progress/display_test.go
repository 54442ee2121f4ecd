package progress

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

func TestALineStaysForEveryStage(t *testing.T) {
	for _, row := range []struct {
		name string
		on   screen.Screen
	}{{"on a terminal", screen.Screen{Width: 100, Live: true}}, {"elsewhere", screen.Screen{}}} {
		var out strings.Builder
		now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
		d := New(&out, row.on, 1, func() time.Time { return now })
		o := d.Start("tiny-1", t.TempDir(), &runplan.RunPlan{})
		o.Changed(local.Record{Kind: local.TaskStarted, Task: "load-gen-0", Time: now})
		for _, p := range []report.Progress{
			{Stages: 2, Samples: 1, Name: "warm", Done: 20, ElapsedS: 2, TTFTMS: 40.25},
			{Stage: 1, Stages: 2, Samples: 1, Name: "rate-20", Measure: true, Done: 90, ElapsedS: 4, TTFTMS: 41},
			{Stage: 1, Stages: 2, Samples: 1, Name: "rate-20", Measure: true, Done: 100, Errors: 1, ElapsedS: 5, TTFTMS: 41.5},
			{Stage: 1, Stages: 2, Samples: 1, Name: "rate-20", Try: 1, After: "client_limited", Measure: true,
				Done: 101, ElapsedS: 5, TTFTMS: 40},
		} {
			d.Progress("tiny-1", p)
			d.mu.Lock()
			d.draw()
			d.mu.Unlock()
		}
		o.Changed(local.Record{
			Kind: local.TaskFinished, Task: "load-gen-0", State: local.Succeeded, Time: now.Add(7 * time.Second),
		})
		d.Close()
		for _, want := range []string{
			"12:00:00    stage 1/2 warm (not measured)  2 s  20 ok  0 errors  TTFT 40.2 ms\n",
			"12:00:00    stage 2/2 rate-20  5 s  100 ok  1 errors  TTFT 41.5 ms\n",
			"12:00:00    stage 2/2 rate-20 (try 2, after client_limited)  5 s  101 ok  0 errors  TTFT 40.0 ms\n",
			"12:00:00    load-gen-0   ok  7.0s\n",
		} {
			if n := strings.Count(out.String(), want); n != 1 {
				t.Errorf("%s %q stands %d times in\n%s", row.name, want, n, out.String())
			}
		}
	}
}

func TestATaskThatTakesItsTimeSaysWhatItWaitsFor(t *testing.T) {
	for _, row := range []struct {
		name, want string
		on         screen.Screen
	}{
		{"on a terminal", "    provision    3 s  waiting for http://127.0.0.1:1 to serve \"..\n",
			screen.Screen{Width: 66, Live: true}},
		{"elsewhere", "12:00:03    provision    waiting for http://127.0.0.1:1 to serve \"acme/tiny\"\n", screen.Screen{}},
	} {
		var out strings.Builder
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "provision.log"),
			[]byte("begins\nwaiting for http://127.0.0.1:1 to serve \"acme/tiny\"\nhal"), 0o644); err != nil {
			t.Fatal(err)
		}
		now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
		d := &Display{
			w: &out, on: row.on, now: func() time.Time { return now }, load: map[string]*loading{},
			busy: map[string]*working{},
		}
		o := d.Start("tiny-1", dir, &runplan.RunPlan{})
		o.Changed(local.Record{Kind: local.TaskStarted, Task: "provision", Time: now})
		o.Changed(local.Record{Kind: local.StepStarted, Task: "provision", Log: "provision.log", Time: now})
		before := out.String()
		for range 3 {
			now = now.Add(time.Second)
			if d.draw(); now.Second() < 2 && out.String() != before {
				t.Errorf("%s: it speaks after a second:\n%s", row.name, out.String())
			}
		}
		d.draw()
		if row.on.Live && !strings.Contains(out.String(), row.want) ||
			!row.on.Live && strings.Count(out.String(), "waiting for") != 1 {
			t.Errorf("%s: %q is not in\n%s", row.name, row.want, out.String())
		}
		o.Changed(local.Record{Kind: local.TaskFinished, Task: "provision", State: local.Succeeded, Time: now})
		if d.draw(); d.bars > 0 {
			t.Errorf("%s: what has ended is still told of", row.name)
		}
	}
}

// TestWhatATaskHasSaidIsNotSaidAgainAtItsEnd: a machine that is slow shows the last words of a task before its end is
// known.
func TestWhatATaskHasSaidIsNotSaidAgainAtItsEnd(t *testing.T) {
	var out strings.Builder
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "push.log"), []byte("mlflow-push: the verdict is fail (exit code 5)\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	d := &Display{w: &out, now: func() time.Time { return now }, load: map[string]*loading{}, busy: map[string]*working{}}
	o := d.Start("tiny-1", dir, &runplan.RunPlan{})
	o.Changed(local.Record{Kind: local.TaskStarted, Task: "mlflow-push", Time: now})
	o.Changed(local.Record{Kind: local.StepStarted, Task: "mlflow-push", Log: "push.log", Time: now})
	now = now.Add(silenceLimit)
	d.draw()
	o.Changed(local.Record{Kind: local.TaskFinished, Task: "mlflow-push", State: local.Failed, Time: now,
		Message: `step "verdict" exited with code 5: mlflow-push: the verdict is fail (exit code 5)`})
	if strings.Count(out.String(), "the verdict is") != 1 || !strings.Contains(out.String(), "failed") {
		t.Errorf("it says:\n%s", out.String())
	}
}
