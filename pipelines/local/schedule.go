package local

import (
	"context"
	"fmt"
	"slices"
	"sync"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/reconciler/pipeline/dag"
)

// runGraph runs the tasks of the DAG: each as soon as what it depends on is done.
func (e *executor) runGraph(ctx context.Context) {
	var started, done []string
	ended := make(chan string)
	for {
		ready, err := dag.GetCandidateTasks(e.program.graph, done...)
		if err != nil {
			return // done holds only what became ready, so its ancestors are done
		}
		settled := false
		for i := range e.program.spec.Tasks {
			pt := &e.program.spec.Tasks[i]
			if !ready.Has(pt.Name) || slices.Contains(started, pt.Name) {
				continue
			}
			started = append(started, pt.Name)
			run, ok := e.decide(ctx, pt)
			if !ok {
				done, settled = append(done, pt.Name), true
				continue
			}
			go func() {
				e.runTask(ctx, run)
				ended <- pt.Name
			}()
		}
		if settled {
			continue
		}
		if len(started) == len(done) {
			return
		}
		done = append(done, <-ended)
	}
}

// decide returns pt ready to run, or records why it does not run.
func (e *executor) decide(ctx context.Context, pt *v1.PipelineTask) (*v1.PipelineTask, bool) {
	if t, ok := e.kept[pt.Name]; ok {
		e.ledger.record(Record{Kind: TaskKept, Task: pt.Name, Tasks: []Task{t}})
		return nil, false
	}
	state := e.ledger.status()
	missing := missingResult(state, pt)
	pt = pt.DeepCopy()
	scope := e.resultScope(state, pt)
	scope.pipelineTask(pt)
	if why := e.skipReason(ctx, state, pt, missing); why != v1.None {
		e.skip(pt, why)
		return nil, false
	}
	if missing != nil {
		e.fail(pt, missing)
		return nil, false
	}
	return pt, true
}

func (e *executor) skip(pt *v1.PipelineTask, why v1.SkippingReason) {
	e.ledger.record(Record{Kind: TaskSkipped, Task: pt.Name, State: Skipped, Reason: string(why)})
}

func (e *executor) fail(pt *v1.PipelineTask, missing *v1.ResultRef) {
	e.ledger.record(Record{
		Kind: TaskFinished, Task: pt.Name, State: Failed, Reason: v1.PipelineRunReasonInvalidTaskResultReference.String(),
		Message: fmt.Sprintf("it needs result %q of task %q, which did not write it",
			missing.Result, missing.PipelineTask), ExitCode: 1,
		Ignored: pt.OnError == v1.PipelineTaskContinue,
	})
}

// runFinally runs all finally tasks side by side, as Tekton does.
func (e *executor) runFinally(ctx context.Context) {
	state := e.ledger.status()
	var wg sync.WaitGroup
	for i := range e.program.spec.Finally {
		missing := missingResult(state, &e.program.spec.Finally[i])
		pt := e.program.spec.Finally[i].DeepCopy()
		scope := e.resultScope(state, pt).with(statusValues(state))
		scope.pipelineTask(pt)
		if why := finallySkipReason(ctx, pt, missing); why != v1.None {
			e.skip(pt, why)
			continue
		}
		wg.Go(func() { e.runTask(ctx, pt) })
	}
	wg.Wait()
}
