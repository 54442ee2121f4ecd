package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/tasks/contract"
)

const onePoint = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: short}
spec:
  model: {name: acme/tiny}
  deployment_profile: sim
  load: {data: {input: 16, output: 4}, stages: [{rate: 10, duration: 1s}]}
`

// TestAnExperimentOfWhichNothingBeganIsNotGreen: a signal may come before the first run is made, and between two of them.
func TestAnExperimentOfWhichNothingBeganIsNotGreen(t *testing.T) {
	for _, row := range []struct {
		name, set, says string
	}{
		{"one run", "load.stages[0].rate=10", "interrupted before the run began"},
		{"a matrix", "model.name=[acme/tiny, acme/small]", "interrupted before 2 of 2 runs began"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "short.yaml")
			if err := os.WriteFile(file, []byte(onePoint), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			var out, err strings.Builder
			code := Main(ctx, Streams{In: strings.NewReader(""), Out: &out, Err: &err},
				[]string{"bflow", "run", "--local", "--plain", "--runs-dir", filepath.Join(dir, "runs"), "--set", row.set, file})
			if code != contract.ExitInterrupted || !strings.Contains(err.String(), row.says) {
				t.Errorf("exit code %d, and it says %q; want %d and %q", code, err.String(), contract.ExitInterrupted, row.says)
			}
		})
	}
}
