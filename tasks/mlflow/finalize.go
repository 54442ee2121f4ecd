package mlflow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bflow.dev/bflow/report/partial"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/step"
)

// finalizeTimeout is how long finalize waits for a server that is away: push has waited for longer.
const finalizeTimeout = 15 * time.Second

// finalize gives a run that push has begun and not ended its true status. The run of a load generator that was killed,
// to which no task came after it, gets its report here, and is pushed. It is bounded and never fails the Pipeline: a
// run that was never pushed, and a server that is away, leave nothing to do.
func finalize(ctx context.Context, s step.Streams, o Options, plan *runplan.RunPlan, client *Client) error {
	ctx, cancel := context.WithTimeout(ctx, o.Deadline)
	defer cancel()
	if client != nil {
		client.Patience = min(client.Patience, finalizeTimeout)
	}
	if err := settle(ctx, s, o, plan, client); err != nil {
		fmt.Fprintf(s.Err, "mlflow-push: %v\n", err)
	}
	return nil
}

func settle(ctx context.Context, s step.Streams, o Options, plan *runplan.RunPlan, client *Client) error {
	killed, err := partial.Run{Dir: o.RunDir, ID: o.RunID, Attempt: o.Attempt, Plan: plan, Loads: o.Loads}.Report()
	if err != nil {
		return fmt.Errorf("making the report of a load that was killed: %w", err)
	}
	if killed != nil {
		for _, reason := range killed.Reasons {
			fmt.Fprintf(s.Err, "mlflow-push: %s\n", reason)
		}
		_, err := deliver(ctx, s, o, plan, client, killed)
		return err
	}
	if _, err := os.Stat(filepath.Join(o.RunDir, ReplayFile)); client == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return end(ctx, o, plan, client)
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
