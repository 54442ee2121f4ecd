package matrix_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/runs/matrix"
	"bflow.dev/bflow/tasks/step"
)

// volumes are two, of which the second is not what it was when its run ended.
func volumes(t *testing.T) string {
	t.Helper()
	from := t.TempDir()
	for _, run := range []string{"a", "b"} {
		dir := filepath.Join(from, run)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, contract.FileReport), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checksums.Write(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(from, "b", contract.FileReport), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	return from
}

func TestOneDamagedVolumeKeepsTheOthersFromNothing(t *testing.T) {
	into, result := t.TempDir(), filepath.Join(t.TempDir(), "gathered")
	var said strings.Builder
	if err := matrix.Gather(t.Context(), runs.Console{Err: &said}, volumes(t), into, result); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(result); err != nil || string(text) != "a" {
		t.Errorf("gathered %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(into, "a", contract.FileReport)); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"its volume is kept", "gathered the results of 1 of 2 runs"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q does not say %q", said.String(), want)
		}
	}
}

func TestGatheringThatIsInterruptedExitsAsSuch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := matrix.Gather(ctx, runs.Console{Err: new(strings.Builder)}, volumes(t), t.TempDir(), "")
	if step.Code(err) != contract.ExitInterrupted {
		t.Errorf("%v, exit code %d", err, step.Code(err))
	}
}

func TestATaskOfNoMatrixIsAnErrorOfUsage(t *testing.T) {
	on := runs.Console{Err: new(strings.Builder)}
	for name, err := range map[string]error{
		"begin":     matrix.Begin(t.Context(), on, matrix.Options{Namespace: "bench"}),
		"aggregate": matrix.Aggregate(t.Context(), on, nil, matrix.Options{Parent: "p"}),
	} {
		if step.Code(err) != contract.ExitUsage || !strings.Contains(err.Error(), "--pipelinerun is required") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
