package local

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/pipelines"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the expected outputs")

// TestRun executes each testdata/run/*.input.yaml and compares how it ended with *.output.txt. The first line of an
// input is the sentence it stands for.
func TestRun(t *testing.T) {
	inputs, err := filepath.Glob("testdata/run/*.input.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	root := hostRoot(t)
	for _, input := range inputs {
		data, err := os.ReadFile(input)
		if err != nil {
			t.Fatal(err)
		}
		sentence, _, _ := strings.Cut(strings.TrimPrefix(string(data), "# "), "\n")
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			o := testOptions(root, filepath.Join(t.TempDir(), "run"))
			o.Objects = parse(t, string(data))
			status, err := Run(t.Context(), o)
			got := describe(t, o.RunDir, status, err)
			golden(t, strings.TrimSuffix(input, ".input.yaml")+".output.txt", got)
			if err == nil {
				sameFromJournal(t, status)
			}
		})
	}
}

// hostRoot makes the folder that stands for the root of image "worker", with the programs of ours in bin.
func hostRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"worker", "executor", "bflow", "bin/provision"} {
		if err := os.Symlink(self, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func parse(t *testing.T, text string) pipelines.Bundle {
	t.Helper()
	objects, err := pipelines.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// sameFromJournal checks that a reader of the journal sees what the executor saw.
func sameFromJournal(t *testing.T, status Status) {
	t.Helper()
	read, err := StatusOf(status.RunDir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(status, read); diff != "" {
		t.Errorf("the journal tells another story (-executor +journal):\n%s", diff)
	}
}

// describe writes how a run ended, without times and places.
func describe(t *testing.T, runDir string, s Status, err error) string {
	t.Helper()
	var b strings.Builder
	if err != nil {
		var refused *RefusedError
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
		for _, r := range refused.Refusals {
			fmt.Fprintln(&b, "refused:", r)
		}
		return b.String()
	}
	fmt.Fprintf(&b, "run: %s, %s, exit %d: %s\n", s.State, s.Reason, s.ExitCode, s.Message)
	describeResults(&b, "", s.Results)
	for _, task := range s.Tasks {
		describeTask(&b, task)
	}
	logs, _ := filepath.Glob(filepath.Join(runDir, dirLogs, "*.log"))
	for _, log := range logs {
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "log %s:\n  %s\n", filepath.Base(log),
			strings.ReplaceAll(strings.TrimSpace(string(data)), "\n", "\n  "))
	}
	real, err := filepath.EvalSymlinks(runDir)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), real, "RUN")
}

func describeTask(b *strings.Builder, task Task) {
	fmt.Fprintf(b, "task %s: %s, %s", task.Name, task.State, task.Reason)
	if task.Message != "" {
		fmt.Fprintf(b, ": %s", task.Message)
	}
	if task.Ignored {
		b.WriteString(" (ignored)")
	}
	b.WriteString("\n")
	describeResults(b, "  ", task.Results)
	for _, run := range task.Runs {
		fmt.Fprintf(b, "  %s: %s", run.Name, run.State)
		for _, p := range run.Params {
			fmt.Fprintf(b, ", %s=%s", p.Name, p.Value.StringVal)
		}
		if run.Retries > 0 {
			fmt.Fprintf(b, ", retried %d times", run.Retries)
		}
		for _, step := range run.Steps {
			fmt.Fprintf(b, ", %s %s exit %d", step.Program, step.Name, step.ExitCode)
		}
		b.WriteString("\n")
	}
}

func describeResults(b *strings.Builder, indent string, results Results) {
	for _, name := range slices.Sorted(maps.Keys(results)) {
		data, err := results[name].MarshalJSON()
		fmt.Fprintf(b, "%sresult %s = %s\n", indent, name, data)
		if err != nil {
			fmt.Fprintln(b, err)
		}
	}
}
