package local

import (
	"context"
	"errors"
	"fmt"

	"bflow.dev/bflow/runplan/contract"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// lastRecord says how the attempt ended.
func (e *executor) lastRecord(ctx, root context.Context) Record {
	state := e.ledger.status()
	r := Record{Kind: AttemptFinished, Attempt: e.o.Attempt, Results: pipelineResults(e.program.spec, state.Tasks)}
	var why *stopCause
	switch {
	case errors.As(context.Cause(root), &why):
		r.State, r.Message = why.state, why.message
	case state.Reason == v1.PipelineRunReasonCancelledRunningFinally.String():
		r.State, r.Message = Cancelled, "the run was cancelled"
	case e.over != nil:
		r.State, r.Message = e.over.state, e.over.message
	default:
		r.State, r.Message = sum(state.Tasks)
	}
	r.Reason, r.ExitCode = reason(r.State, state.Tasks), exitOf(r.State, state.Tasks)
	return r
}

// sum returns how tasks ended together, with a sentence about the first that fell.
func sum(tasks []Task) (State, string) {
	var first *Task
	counts := map[State]int{}
	for i, t := range tasks {
		counts[t.State]++
		if hasFailed(t) && !t.Ignored && first == nil {
			first = &tasks[i]
		}
	}
	if first != nil {
		return Failed, fmt.Sprintf("task %q: %s", first.Name, first.Message)
	}
	return Succeeded, fmt.Sprintf("%d succeeded, %d skipped", counts[Succeeded], counts[Skipped])
}

// reason is Tekton's word for the state of a run.
func reason(state State, tasks []Task) string {
	switch state {
	case Cancelled:
		return v1.PipelineRunReasonCancelled.String()
	case TimedOut:
		return v1.PipelineRunReasonTimedOut.String()
	case Failed:
		return v1.PipelineRunReasonFailed.String()
	}
	for _, t := range tasks {
		if t.State == Skipped {
			return v1.PipelineRunReasonCompleted.String()
		}
	}
	return v1.PipelineRunReasonSuccessful.String()
}

// exitOf is the documented exit code of a run: of several failures the one that says most.
func exitOf(state State, tasks []Task) int {
	if state == Cancelled {
		return contract.ExitInterrupted
	}
	if state == Succeeded {
		return contract.ExitPass
	}
	for _, code := range []int{
		contract.ExitUsage, contract.ExitUnhealthy, contract.ExitFail, contract.ExitInvalid, contract.ExitBreach,
		contract.ExitInconclusive,
	} {
		for _, t := range tasks {
			if hasFailed(t) && !t.Ignored && known(t.ExitCode) == code {
				return code
			}
		}
	}
	return contract.ExitFail
}

// known maps an exit code that is not documented to the general one.
func known(code int) int {
	if code >= contract.ExitFail && code <= contract.ExitInconclusive {
		return code
	}
	return contract.ExitFail
}
