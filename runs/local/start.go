package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	executor "bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/runs/progress"
)

// Start carries plans out, shows them, and prints what they came to. Several are a matrix. It returns the exit code
// that stands for all of them.
func Start(ctx context.Context, on runs.Console, plans []*runplan.RunPlan, o Options) (int, error) {
	if len(plans) > 1 {
		o.Matrix = NewRunID(runplan.Base(plans[0].Experiment), on.Now()) // its page lies under this name
	}
	group, err := beginGroup(ctx, on, plans, &o)
	if err != nil {
		return 0, err
	}
	display := progress.New(on.Err, on.ErrScreen, len(plans), on.Now)
	o.Observe, o.Say = display.Start, display.Say
	outcomes := Run(ctx, plans, o)
	display.Close()
	page, code, err := conclude(on, o, outcomes)
	code = addUnmade(ctx, on, len(plans), len(outcomes), code)
	group.end(ctx, on, outcomes, page, code)
	return code, err
}

// addUnmade adds to code that a signal came before runs were made: what is not there was not measured.
func addUnmade(ctx context.Context, on runs.Console, plans, made, code int) int {
	if ctx.Err() == nil || made == plans {
		return code
	}
	if plans == 1 {
		fmt.Fprintln(on.Err, "interrupted before the run began")
	} else {
		fmt.Fprintf(on.Err, "interrupted before %d of %d runs began\n", plans-made, plans)
	}
	return runs.Worst([]int{code, contract.ExitInterrupted})
}

// conclude prints the table of runs and returns their page, and the code that stands for all of them.
func conclude(on runs.Console, o Options, outcomes []runs.Outcome) (page string, code int, err error) {
	var codes []int
	for _, out := range outcomes {
		codes = append(codes, out.Code)
		if out.Code != contract.ExitPass {
			explain(on, out)
		}
	}
	over := ""
	if o.Matrix != "" {
		if over, err = pageIn(o.Root, o.Matrix); err != nil {
			return "", runs.Worst(codes), err
		}
	}
	page, err = runs.Headline(on, over, outcomes)
	return page, runs.Worst(codes), err
}

// explain says why a run is not green, in one sentence.
func explain(on runs.Console, out runs.Outcome) {
	switch {
	case out.Err != nil:
		fmt.Fprintf(on.Err, "%s: %v\n", out.RunID, out.Err)
	case isJudged(out.Status): // the table says it, with its reasons
	case out.Status.State == executor.Cancelled:
		fmt.Fprintf(on.Err, "%s: %s; resume it with bflow resume %s%s\n", out.RunID, out.Status.Message, out.RunID,
			partOf(out))
	case out.Status.Message != "":
		fmt.Fprintf(on.Err, "%s: %s; see bflow logs %s\n", out.RunID, progress.Reason(out.Status.Message), out.RunID)
	}
}

// partOf says how what a run has measured so far is shown, where it has begun to.
func partOf(out runs.Outcome) string {
	if _, err := os.Stat(filepath.Join(out.RunDir, contract.DirMeasurement)); err != nil {
		return ""
	}
	return ", or see what was measured with bflow report " + out.RunID
}

// isJudged says whether a run is red for nothing but its verdict.
func isJudged(s executor.Status) bool {
	fell := slices.IndexFunc(s.Tasks, func(t executor.Task) bool {
		return t.State == executor.Failed ||
			t.State == executor.TimedOut
	})
	return fell >= 0 && s.Tasks[fell].Name == contract.MLflowPush && s.Tasks[fell].Step == contract.StepVerdict
}
