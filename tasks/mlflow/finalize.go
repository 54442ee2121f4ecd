package mlflow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bflow.dev/bflow/tasks/runplan"
	"bflow.dev/bflow/tasks/step"
)

// finalPatience is how long finalize waits for a server that is away: push has waited for longer.
const finalPatience = 15 * time.Second

// finalize gives a run that push has begun and not ended its true status. It is bounded and never fails the Pipeline:
// a run that was never pushed, and a server that is away, leave nothing to do.
func finalize(ctx context.Context, s step.Streams, o Options, plan *runplan.RunPlan, client *Client) error {
	if _, err := os.Stat(filepath.Join(o.RunDir, ReplayFile)); client == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	client.Patience = min(client.Patience, finalPatience)
	ctx, cancel := context.WithTimeout(ctx, o.Deadline)
	defer cancel()
	if err := end(ctx, o, plan, client); err != nil {
		fmt.Fprintf(s.Err, "mlflow-push: %v\n", err)
	}
	return nil
}

func end(ctx context.Context, o Options, plan *runplan.RunPlan, client *Client) error {
	experiment, _, err := client.findExperiment(ctx, clip(plan.Sinks.MLflow.Experiment, 256))
	if err != nil {
		return err
	}
	info, err := client.FindRun(ctx, experiment, RunKey(o.RunID, plan))
	if err != nil || info == nil || info.Status != Running {
		return err
	}
	return client.End(ctx, info.RunID, unfinished(o.Status), time.Now())
}

// unfinished is the status of a run whose push did not come to its end.
func unfinished(status string) string {
	if status == "None" { // cancelled before the tasks came to an end
		return Killed
	}
	return Failed
}
