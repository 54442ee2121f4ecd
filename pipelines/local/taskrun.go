package local

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// taskRun is one execution of a Task: the only one of a pipeline task, or one combination of its matrix.
type taskRun struct {
	e      *executor
	pt     *v1.PipelineTask
	body   body
	name   string    // of the TaskRun
	label  string    // in log names: the task, with the index of a combination
	params v1.Params // of the combination
	scope  values    // of the Pipeline: what an inline task sees
	tried  int       // tries so far, this one included
}

// outcome is how a task or TaskRun ended.
type outcome struct {
	state    State
	reason   string
	message  string
	step     string // that failed, where the task has others
	exitCode int
	results  Results
}

func failure(err error) outcome {
	return outcome{state: Failed, reason: v1.TaskRunReasonFailed.String(), message: err.Error(), exitCode: 1}
}

// run runs t, again after a failure as often as its retries allow, and records how it ended.
func (t *taskRun) run(ctx context.Context) outcome {
	out := t.try(ctx, 0)
	for try := 1; try <= t.pt.Retries && out.state != Succeeded && ctx.Err() == nil; try++ {
		t.e.ledger.record(Record{
			Kind: RunRetried, Task: t.pt.Name, TaskRun: t.name, State: out.state, Reason: out.reason, Message: out.message,
		})
		out = t.try(ctx, try)
	}
	t.e.ledger.record(Record{
		Kind: RunFinished, Task: t.pt.Name, TaskRun: t.name,
		State: out.state, Reason: out.reason, Message: out.message, ExitCode: out.exitCode, Results: out.results,
	})
	return out
}

// try runs the steps of t once, in order.
func (t *taskRun) try(ctx context.Context, try int) outcome {
	t.tried = try + 1
	if limit := t.e.program.taskTimeout(t.pt.Name); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, &stopCause{TimedOut, v1.TaskRunReasonTimedOut.String(),
			fmt.Sprintf("TaskRun %q took longer than its timeout of %s", t.name, limit)})
		defer cancel()
	}
	room, err := t.e.room(t.name)
	if err != nil {
		return failure(err)
	}
	scope, mounted, err := t.enter(room, try)
	if err != nil {
		return failure(err)
	}
	steps, err := t.steps()
	if err != nil {
		return failure(err)
	}
	out := outcome{state: Succeeded, reason: v1.TaskRunReasonSuccessful.String()}
	for i := range steps {
		if out = t.step(ctx, &steps[i], room, scope, mounted); out.state != Succeeded {
			if len(steps) > 1 {
				out.step = steps[i].Name
			}
			break
		}
	}
	results, err := taskResults(t.body.spec, room.results(), scope)
	if err != nil && out.state == Succeeded {
		return failure(err)
	}
	out.results = results
	return out
}

// steps returns the steps with their names and what the step template gives them, variables still open.
func (t *taskRun) steps() ([]v1.Step, error) {
	spec := t.body.spec.DeepCopy()
	steps, err := v1.MergeStepsWithStepTemplate(spec.StepTemplate, spec.Steps)
	if err != nil {
		return nil, fmt.Errorf("merging the step template: %w", err)
	}
	for i := range steps {
		if steps[i].Name == "" {
			steps[i].Name = "unnamed-" + strconv.Itoa(i)
		}
	}
	return steps, nil
}

// enter makes the folders of t and the values that its Task sees.
func (t *taskRun) enter(room room, try int) (values, mounts, error) {
	scope := newValues()
	if t.body.task == "" {
		scope = t.scope.with()
	}
	for name, value := range map[string]string{
		"context.taskRun.name": t.name, "context.taskRun.namespace": t.e.program.run.Namespace,
		"context.taskRun.uid": uid(t.e.program.run.Name + "/" + t.name), "context.task.name": t.body.task,
		"context.task.retry-count": strconv.Itoa(try),
	} {
		scope.strings[name] = value
	}
	mounted, err := t.mount(room, scope)
	if err != nil {
		return values{}, mounts{}, err
	}
	for _, r := range t.body.spec.Results {
		for _, notation := range []string{"results.%s.path", "results[%q].path", "results['%s'].path"} {
			scope.strings[fmt.Sprintf(notation, r.Name)] = room.result(r.Name)
		}
	}
	given := t.given(scope)
	params, err := bindParams(t.body.spec.Params, given, scope)
	if err != nil {
		return values{}, mounts{}, fmt.Errorf("task %q: %w", t.pt.Name, err)
	}
	for _, p := range params {
		scope.drop(p.Name)
	}
	scope.setParams(params)
	return scope, mounted, nil
}

// given returns the params that t's task and its combination give. An inline task also has those of the Pipeline that
// it declares, except where it has a default: that wins, and scope forgets the Pipeline's.
func (t *taskRun) given(scope values) v1.Params {
	given := scope.params(append(t.pt.Params.DeepCopy(), t.params...))
	if t.body.task != "" {
		return given
	}
	have := given.ExtractNames()
	for _, spec := range t.body.spec.Params {
		if spec.Default != nil {
			scope.drop(spec.Name)
			continue
		}
		for _, p := range t.e.program.params {
			if p.Name == spec.Name && !have.Has(p.Name) {
				given = append(given, p)
			}
		}
	}
	return given
}

// stopCause is why a context ended: it becomes the state of what ran under it.
type stopCause struct {
	state   State
	reason  string
	message string
}

func (e *stopCause) Error() string { return e.message }

// ended returns the outcome of what ctx, which has ended, cut off.
func ended(ctx context.Context) outcome {
	var why *stopCause
	if !errors.As(context.Cause(ctx), &why) {
		why = &stopCause{Cancelled, v1.TaskRunReasonCancelled.String(), "it was cancelled"}
	}
	return outcome{state: why.state, reason: why.reason, message: why.message, exitCode: 1}
}
