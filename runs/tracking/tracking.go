// Package tracking is the run of a matrix on an MLflow server: those of its points stand below it.
package tracking

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/tasks/mlflow"
)

// Push pushes what a matrix came to, with files by name, and ends its run.
func Push(ctx context.Context, client *mlflow.Client, g mlflow.Group, files map[string][]byte,
	o mlflow.Outcome) (*mlflow.RunInfo, error) {
	dir, err := os.MkdirTemp("", "bflow-matrix-")
	if err != nil {
		return nil, fmt.Errorf("storing the page of the matrix: %w", err)
	}
	defer os.RemoveAll(dir)
	for name, text := range files {
		if err := durable.WriteFile(filepath.Join(dir, name), text); err != nil {
			return nil, err
		}
	}
	return client.Finish(ctx, g, dir, o)
}

// OutcomeOf is what MLflow shows of a matrix that ended with an exit code.
func OutcomeOf(n state.Counts, points, code int) mlflow.Outcome {
	word := n.Verdict()
	return mlflow.Outcome{End: time.Now(), ExitCode: code,
		Tags: map[string]string{mlflow.VerdictTag: word, "bflow.verdict": word,
			"mlflow.note.content": fmt.Sprintf("**%s**: %d points, %s", word, points, n)},
		Metrics: map[string]float64{"points": float64(points), "passed": float64(n.Passed), "failed": float64(n.Failed),
			"invalid": float64(n.Invalid), "inconclusive": float64(n.Inconclusive), "cancelled": float64(n.Cancelled +
				n.Deleted + n.Skipped)}}
}
