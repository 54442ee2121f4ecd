package app

import (
	"context"
	"fmt"
	"time"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/runplan/contract"
	clusterrun "bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/runs/experiment"
	"bflow.dev/bflow/runs/progress"
	"bflow.dev/bflow/tasks/step"
)

// conclude says how matrices and runs ended, and ends as they did.
func (e *expedition) conclude(ctx context.Context, ended map[string]clusterrun.Status) error {
	codes, outcomes, err := e.concludeMatrices(ctx)
	if err != nil {
		return err
	}
	for _, r := range e.runs {
		status := ended[r.ID]
		codes = append(codes, status.ExitCode)
		outcomes = append(outcomes, outcomeOf(status.Verdict(), status.ExitCode))
		if status.ExitCode != contract.ExitPass {
			fmt.Fprintf(e.s.Err, "%s: %s\n", r.ID, progress.Reason(status.Message))
		}
		if b, err := e.cluster.Brief(ctx, r); err != nil {
			fmt.Fprintf(e.s.Err, "warning: %v\n", err)
		} else if b != nil {
			fmt.Fprint(e.s.Out, experiment.Summary(b))
		}
	}
	code := worst(codes)
	word := ""
	if code != contract.ExitInterrupted {
		word = state.Tally(outcomes).Verdict()
	}
	fmt.Fprintf(e.s.Err, "verdict: %s; for details see bflow report %s\n", word, e.names[0])
	if err := e.results.End(word); err != nil {
		return err
	}
	return silently(code)
}

// concludeMatrices says how matrices ended, and returns the code of each and what became of their points.
func (e *expedition) concludeMatrices(ctx context.Context) (codes []int, outcomes []state.Outcome, err error) {
	for _, m := range e.matrices {
		code, err := concludeMatrix(ctx, e.s, screen.Screen{}, e.cluster, m)
		if err != nil {
			return nil, nil, err
		}
		_, points, err := m.State()
		if err != nil {
			return nil, nil, err
		}
		codes, outcomes = append(codes, code), append(outcomes, points...)
		if code == contract.ExitFail && m.Custom == nil {
			outcomes = append(outcomes, outcomeOf("", code)) // it ended before any run was created
		}
	}
	return codes, outcomes, nil
}

// Time that a pod has between the signal and its end is thirty seconds.
const (
	timeToKnow = 12 * time.Second
	timeToEnd  = 12 * time.Second
)

// farewell does what the end of this task means for the runs: a cancelled PipelineRun cancels them; one that has waited
// too long, or whose node is drained, lets them go on.
func (e *expedition) farewell(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	asking, cancel := context.WithTimeout(ctx, timeToKnow)
	defer cancel()
	why := e.cluster.WhyEnds(asking, e.parent, e.taskRun)
	if why != clusterrun.ParentCancelled {
		return step.Exit(contract.ExitInterrupted, fmt.Errorf("waiting for %s: PipelineRun %s %s; the runs continue; follow them with bflow watch, or end them with bflow cancel", e.names[0], e.parent.Name, ended(why)))
	}
	ending, stop := context.WithTimeout(ctx, timeToEnd)
	defer stop()
	met, err := e.cluster.CancelChildren(ending, e.parent)
	for run, was := range met {
		if was == clusterrun.WasQueued {
			fmt.Fprintf(e.s.Err, "cancelled %s; it was waiting and will not start\n", run)
		} else {
			fmt.Fprintf(e.s.Err, "stopping %s; its finally tasks clean up\n", run)
		}
	}
	if err != nil {
		return step.Exit(contract.ExitInterrupted, fmt.Errorf("cancelling the runs of %s: %w; cancel them with bflow cancel", e.parent.Name, err))
	}
	return silently(contract.ExitInterrupted)
}

// ended says what happened to a PipelineRun.
func ended(why clusterrun.Farewell) string {
	if why == clusterrun.ParentTimedOut {
		return "has reached its timeout"
	}
	return "lost its pod"
}
