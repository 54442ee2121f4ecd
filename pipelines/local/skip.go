package local

import (
	"context"
	"errors"
	"strconv"
	"strings"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// skipReason returns why a task that is ready does not run, in Tekton's order of reasons; None when it runs.
func (e *executor) skipReason(
	ctx context.Context, state Status, pt *v1.PipelineTask, missing *v1.ResultRef,
) v1.SkippingReason {
	switch {
	case ctx.Err() != nil:
		return contextSkip(ctx)
	case isStopping(state):
		return v1.StoppingSkip
	case !pt.When.AllowsExecution(nil):
		return v1.WhenExpressionsSkip
	case e.parentSkipped(state, pt.Name):
		return v1.ParentTasksSkip
	case missing != nil && (pt.OnError == v1.PipelineTaskContinue || skippedByWhen(find(state, missing.PipelineTask))):
		return v1.MissingResultsSkip
	case emptyMatrix(pt):
		return v1.EmptyArrayInMatrixParams
	}
	return v1.None
}

// finallySkipReason is skipReason for a finally task.
func finallySkipReason(ctx context.Context, pt *v1.PipelineTask, missing *v1.ResultRef) v1.SkippingReason {
	switch {
	case ctx.Err() != nil:
		return contextSkip(ctx)
	case missing != nil:
		return v1.MissingResultsSkip
	case !pt.When.AllowsExecution(nil):
		return v1.WhenExpressionsSkip
	case emptyMatrix(pt):
		return v1.EmptyArrayInMatrixParams
	}
	return v1.None
}

// contextSkip says why nothing starts any more.
func contextSkip(ctx context.Context) v1.SkippingReason {
	var why *stopCause
	if !errors.As(context.Cause(ctx), &why) || why.state != TimedOut {
		return v1.GracefullyCancelledSkip
	}
	switch {
	case strings.HasPrefix(why.message, "timeouts.pipeline"):
		return v1.PipelineTimedOutSkip
	case strings.HasPrefix(why.message, "timeouts.finally"):
		return v1.FinallyTimedOutSkip
	default:
		return v1.TasksTimedOutSkip
	}
}

// isStopping reports whether a task has failed whose failure stops the Pipeline.
func isStopping(state Status) bool {
	for _, t := range state.Tasks {
		if !t.Finally && hasFailed(t) && !t.Ignored {
			return true
		}
	}
	return false
}

// hasFailed reports whether t ran and did not succeed.
func hasFailed(t Task) bool { return t.State == Failed || t.State == TimedOut || t.State == Cancelled }

// parentSkipped reports whether something pt waits for was skipped, other than by its own when expressions.
func (e *executor) parentSkipped(state Status, name string) bool {
	for _, parent := range e.program.graph.Nodes[name].Prev {
		t := find(state, parent.Key)
		if t.State == Skipped && !skippedByWhen(t) {
			return true
		}
	}
	return false
}

func find(state Status, name string) Task {
	for _, t := range state.Tasks {
		if t.Name == name {
			return t
		}
	}
	return Task{}
}

// missingResult returns the first result that pt names and that does not exist, or nil when all do. pt is as written:
// an inline task may also name results in its body.
func missingResult(state Status, pt *v1.PipelineTask) *v1.ResultRef {
	for _, ref := range v1.PipelineTaskResultRefs(pt) {
		value, ok := find(state, ref.PipelineTask).Results[ref.Result]
		if ok && ref.ResultsIndex != nil {
			ok = *ref.ResultsIndex < len(value.ArrayVal)
		}
		if ok && ref.Property != "" {
			_, ok = value.ObjectVal[ref.Property]
		}
		if !ok {
			return ref
		}
	}
	return nil
}

func skippedByWhen(t Task) bool {
	return t.State == Skipped && t.Reason == string(v1.WhenExpressionsSkip)
}

func emptyMatrix(pt *v1.PipelineTask) bool {
	if !pt.IsMatrixed() {
		return false
	}
	for _, p := range pt.Matrix.Params {
		if p.Value.Type == v1.ParamTypeArray && len(p.Value.ArrayVal) == 0 {
			return true
		}
	}
	return false
}

// resultScope is what the tasks that ran stand for: results, and sizes of matrices.
func (e *executor) resultScope(state Status, pt *v1.PipelineTask) values {
	scope := newValues()
	scope.strings["context.pipelineTask.retries"] = strconv.Itoa(pt.Retries)
	for _, t := range state.Tasks {
		if t.State != Succeeded && t.State != Failed {
			continue
		}
		scope.setResults(resultPrefix(t), t.Results)
		if len(t.Runs) == 0 || len(t.Runs[0].Params) == 0 {
			continue
		}
		scope.strings["tasks."+t.Name+".matrix.length"] = strconv.Itoa(len(t.Runs))
		for name, value := range t.Results {
			scope.strings["tasks."+t.Name+".matrix."+name+".length"] = strconv.Itoa(len(value.ArrayVal))
		}
	}
	return scope
}

// statusValues are the variables that finally tasks have for how the others ended.
func statusValues(state Status) values {
	scope := newValues()
	all := "Succeeded"
	for _, t := range state.Tasks {
		if t.Finally {
			continue
		}
		status := "None"
		switch {
		case t.State == Succeeded:
			status = "Succeeded"
		case hasFailed(t):
			status, all = "Failed", "Failed"
		case all != "Failed":
			all = "Completed"
		}
		scope.strings["tasks."+t.Name+".status"] = status
		scope.strings["tasks."+t.Name+".reason"] = t.Reason
	}
	scope.strings["tasks.status"] = all
	return scope
}
