package experiment

import (
	"context"
	"fmt"
	"time"

	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/runs/progress"
	"bflow.dev/bflow/tasks/step"
)

// conclude says how matrices and runs ended, and ends as they did.
func (t *task) conclude(ctx context.Context, ended map[string]cluster.Status) (int, error) {
	codes, outcomes, err := t.concludeMatrices(ctx)
	if err != nil {
		return 0, err
	}
	for _, r := range t.runs {
		status := ended[r.ID]
		codes = append(codes, status.ExitCode)
		outcomes = append(outcomes, runs.PointOutcome(status.Verdict(), status.ExitCode))
		if status.ExitCode != contract.ExitPass {
			fmt.Fprintf(t.on.Err, "%s: %s\n", r.ID, progress.Reason(status.Message))
		}
		if b, err := t.cluster.Brief(ctx, r); err != nil {
			fmt.Fprintf(t.on.Err, "warning: %v\n", err)
		} else if b != nil {
			fmt.Fprint(t.on.Out, Summary(b))
		}
	}
	code := runs.Worst(codes)
	word := ""
	if code != contract.ExitInterrupted {
		word = state.Tally(outcomes).Verdict()
	}
	fmt.Fprintf(t.on.Err, "verdict: %s; for details see bflow report %s\n", word, t.names[0])
	return code, t.Results.End(word)
}

// concludeMatrices says how matrices ended, and returns the code of each and what became of their points.
func (t *task) concludeMatrices(ctx context.Context) (codes []int, outcomes []state.Outcome, err error) {
	for _, m := range t.matrices {
		code, err := t.cluster.Matrices().Conclude(ctx, t.on, m)
		if err != nil {
			return nil, nil, err
		}
		_, points, err := m.State()
		if err != nil {
			return nil, nil, err
		}
		codes, outcomes = append(codes, code), append(outcomes, points...)
		if code == contract.ExitFail && m.Custom == nil {
			outcomes = append(outcomes, runs.PointOutcome("", code)) // it ended before anything was made
		}
	}
	return codes, outcomes, nil
}

// Time that a pod has between the signal and its end is thirty seconds.
const (
	timeToKnow = 12 * time.Second
	timeToEnd  = 12 * time.Second
)

// leave does what the end of this task means for the runs: a cancelled PipelineRun cancels them; one that has waited
// too long, or whose node is drained, lets them go on.
func (t *task) leave(ctx context.Context) (int, error) {
	ctx = context.WithoutCancel(ctx)
	asking, cancel := context.WithTimeout(ctx, timeToKnow)
	defer cancel()
	why := t.parent.WhyEnds(asking, t.TaskRun)
	if why != cluster.ParentCancelled {
		return 0, step.Exit(contract.ExitInterrupted,
			fmt.Errorf("waiting for %s: PipelineRun %s %s; the runs continue; follow them with bflow watch, or "+
				"end them with bflow cancel", t.names[0], t.parent.Name, endOf(why)))
	}
	ending, stop := context.WithTimeout(ctx, timeToEnd)
	defer stop()
	met, err := t.parent.CancelChildren(ending)
	for run, was := range met {
		if was == cluster.WasQueued {
			fmt.Fprintf(t.on.Err, "cancelled %s; it was waiting and will not start\n", run)
		} else {
			fmt.Fprintf(t.on.Err, "stopping %s; its finally tasks clean up\n", run)
		}
	}
	if err != nil {
		return 0, step.Exit(contract.ExitInterrupted,
			fmt.Errorf("cancelling the runs of %s: %w; cancel them with bflow cancel", t.parent.Name, err))
	}
	return contract.ExitInterrupted, nil
}

// endOf says what happened to a PipelineRun.
func endOf(why cluster.EndReason) string {
	if why == cluster.ParentTimedOut {
		return "has reached its timeout"
	}
	return "lost its pod"
}
