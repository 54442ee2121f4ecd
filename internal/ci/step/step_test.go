package step

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestStepsWaitForWhatTheyNeed(t *testing.T) {
	var mu sync.Mutex
	var order []string
	named := func(err error, name string) func(context.Context, *os.File) error {
		return func(context.Context, *os.File) error {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name)
			return err
		}
	}
	bad := errors.New("it is broken")
	results, out := runAll(t, t.Context(), []Step{
		{Name: "first", Run: named(nil, "first")},
		{Name: "idle", Needs: []string{"first"}, Skip: "nothing to do"},
		{Name: "broken", Needs: []string{"idle"}, Run: named(bad, "broken")},
		{Name: "stopped", Needs: []string{"broken"}, Run: named(nil, "stopped")},
		{Name: "goes on", After: []string{"broken"}, Run: named(nil, "goes on")},
		{Name: "cleans up", Needs: []string{"stopped"}, After: []string{"goes on"}, Always: true,
			Run: named(nil, "cleans up")},
	})
	want := []State{Passed, NotNeeded, Failed, NotRun, Passed, Passed}
	for i, r := range results {
		if r.State != want[i] {
			t.Errorf("step %q is %s, want %s", r.Name, r.State, want[i])
		}
	}
	if got := strings.Join(order, ", "); got != "first, broken, goes on, cleans up" {
		t.Errorf("they ran in the order %s", got)
	}
	for _, said := range []string{"--- idle: not needed: nothing to do", "=== broken: failed: it is broken",
		`--- stopped: not run: it needs "broken", which is failed`} {
		if !strings.Contains(out, said) {
			t.Errorf("the output lacks %q:\n%s", said, out)
		}
	}
}

// TestStepsThatDoNotWaitRunBesideEachOther: each of two waits for the other.
func TestStepsThatDoNotWaitRunBesideEachOther(t *testing.T) {
	meet := make(chan struct{})
	results, _ := runAll(t, t.Context(), []Step{
		{Name: "one", Run: func(context.Context, *os.File) error { meet <- struct{}{}; return nil }},
		{Name: "other", Run: func(context.Context, *os.File) error { <-meet; return nil }},
	})
	for _, r := range results {
		if r.State != Passed {
			t.Errorf("step %q is %s", r.Name, r.State)
		}
	}
}

func TestALogIsPrintedInOnePieceWhenItsStepEnds(t *testing.T) {
	begun := make(chan struct{})
	_, out := runAll(t, t.Context(), []Step{
		{Name: "slow", Run: func(_ context.Context, log *os.File) error {
			fmt.Fprintln(log, "slow one")
			close(begun)
			fmt.Fprintln(log, "slow two")
			return nil
		}},
		{Name: "quick",
			Run: func(_ context.Context, log *os.File) error { <-begun; fmt.Fprintln(log, "quick one"); return nil }},
	})
	if !strings.Contains(out, "slow one\nslow two\n") || !strings.Contains(out, "quick one\n") {
		t.Errorf("the output is\n%s", out)
	}
}

func TestAnInterruptEndsWhatRunsAndBeginsOnlyWhatCleansUp(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	results, _ := runAll(t, ctx, []Step{
		{Name: "running", Run: func(ctx context.Context, _ *os.File) error {
			cancel(errors.New("a signal came"))
			<-ctx.Done()
			return ctx.Err()
		}},
		{Name: "later", After: []string{"running"}, Run: func(context.Context, *os.File) error { return nil }},
		{Name: "cleans up", After: []string{"later"}, Always: true,
			Run: func(ctx context.Context, _ *os.File) error { return ctx.Err() }},
	})
	for i, want := range []State{Interrupted, Interrupted, Passed} {
		if results[i].State != want {
			t.Errorf("step %q is %s, want %s", results[i].Name, results[i].State, want)
		}
	}
}

func TestAGraphThatCouldNotEndIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps []Step
		want  string
	}{
		{"a step waits for one that comes later", []Step{{Name: "a", After: []string{"b"}}, {Name: "b"}},
			`step "a" waits for "b"`},
		{"a step waits for itself", []Step{{Name: "a", Needs: []string{"a"}}}, `step "a" waits for "a"`},
		{"two have one name", []Step{{Name: "a"}, {Name: "a"}}, `two steps are named "a"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Runner{Now: time.Now, Load: noLoad}.Run(t.Context(), tt.steps)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want %q", err, tt.want)
			}
		})
	}
}

func TestACommandIsToldToEndWithAllThatItStarted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ready := filepath.Join(t.TempDir(), "ready")
	if err := syscall.Mkfifo(ready, 0o600); err != nil {
		t.Fatal(err)
	}
	results, _ := runAll(t, ctx, []Step{
		{Name: "watch", Run: func(context.Context, *os.File) error {
			_, err := os.ReadFile(ready) // until the child has opened and closed it
			cancel()
			return err
		}},
		{Name: "tree", Run: Command([]string{"READY=" + ready}, "sh", "-c",
			`trap 'exit 3' TERM; sh -c 'echo >"$READY"; exec sleep 600' & wait`)},
	})
	if results[1].State != Interrupted {
		t.Errorf("the command is %s: %s", results[1].State, results[1].Why)
	}
}

func TestACommandThatFailsSaysHow(t *testing.T) {
	results, out := runAll(t, t.Context(), []Step{{Name: "fails", Run: Command(nil, "sh", "-c", "echo told; exit 3")}})
	if results[0].Why != "sh: exit status 3" || !strings.Contains(out, "told\n") {
		t.Errorf("the reason is %q, the output\n%s", results[0].Why, out)
	}
}

func runAll(t *testing.T, ctx context.Context, steps []Step) ([]Result, string) {
	t.Helper()
	var out bytes.Buffer
	results, err := Runner{Out: &out, Logs: t.TempDir(), Now: time.Now, Load: noLoad}.Run(ctx, steps)
	if err != nil {
		t.Fatal(err)
	}
	return results, out.String()
}

func noLoad() float64 { return 0 }
