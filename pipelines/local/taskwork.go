package local

import (
	"context"
	"strconv"
	"sync"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"knative.dev/pkg/kmeta"
)

// runTask runs pt, or all combinations of its matrix side by side, and records how it ended.
func (e *executor) runTask(ctx context.Context, pt *v1.PipelineTask) {
	e.ledger.record(Record{Kind: TaskStarted, Task: pt.Name})
	runs := e.taskRuns(pt)
	outcomes := make([]outcome, len(runs))
	for _, run := range runs { // before any starts, so that the order is that of the combinations
		e.ledger.record(Record{Kind: RunStarted, Task: pt.Name, TaskRun: run.name, Params: run.params})
	}
	var wg sync.WaitGroup
	for i, run := range runs {
		wg.Go(func() { outcomes[i] = run.run(ctx) })
	}
	wg.Wait()
	out := together(outcomes)
	if pt.IsMatrixed() {
		out.results = matrixResults(e.ledger.task(pt.Name).Runs)
	}
	e.ledger.record(Record{
		Kind: TaskFinished, Task: pt.Name, Step: out.step, State: out.state, Reason: out.reason, Message: out.message,
		ExitCode: out.exitCode, Results: out.results, Ignored: pt.OnError == v1.PipelineTaskContinue &&
			(out.state == Failed || out.state == TimedOut),
	})
}

// taskRuns makes the executions of pt, named as Tekton names them.
func (e *executor) taskRuns(pt *v1.PipelineTask) []*taskRun {
	scope := e.program.scope.with(e.resultScope(e.ledger.status(), pt))
	base := taskRun{e: e, pt: pt, body: e.program.bodies[pt.Name], scope: scope, label: pt.Name}
	base.name = kmeta.ChildName(e.program.run.Name, "-"+pt.Name)
	if !pt.IsMatrixed() {
		return []*taskRun{&base}
	}
	var runs []*taskRun
	for i, params := range pt.Matrix.FanOut() {
		run := base
		run.params, run.label = params, pt.Name+"-"+strconv.Itoa(i)
		run.name = kmeta.ChildName(e.program.run.Name, "-"+run.label)
		runs = append(runs, &run)
	}
	return runs
}

// together is the outcome of several TaskRuns of one task: the first that did not succeed.
func together(outcomes []outcome) outcome {
	for _, o := range outcomes {
		if o.state != Succeeded {
			return o
		}
	}
	if len(outcomes) == 0 {
		return outcome{state: Succeeded, reason: v1.TaskRunReasonSuccessful.String()}
	}
	return outcomes[0]
}
