package local

import (
	"slices"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// progress is the state that a sequence of records adds up to. The living executor and a reader of its journal apply
// the same records and see the same state.
type progress struct {
	status Status
	// finished holds each task that succeeded in any attempt and has not started again since.
	finished map[string]Task
}

func replay(records []Record) *progress {
	p := &progress{finished: map[string]Task{}}
	for _, r := range records {
		p.apply(r)
	}
	return p
}

func (p *progress) apply(r Record) {
	s := &p.status
	switch r.Kind {
	case AttemptStarted:
		p.status = Status{
			RunID: r.RunID, Pipeline: r.Pipeline, Matrix: r.Matrix, Attempt: r.Attempt, PID: r.PID,
			State: Running, Phase: "tasks", Started: r.Time, Tasks: slices.Clone(r.Tasks),
		}
	case CancelRequested:
		s.Reason, s.Message = r.Reason, r.Message
	case FinallyStarted:
		s.Phase = "finally"
	case AttemptFinished:
		s.State, s.Reason = r.State, r.Reason
		s.Message, s.ExitCode = r.Message, r.ExitCode
		s.Finished, s.Results, s.Phase = r.Time, r.Results, ""
	default:
		if t := p.task(r.Task); t != nil {
			p.applyTask(t, r)
		}
	}
}

func (p *progress) applyTask(t *Task, r Record) {
	switch r.Kind {
	case TaskKept:
		if len(r.Tasks) == 1 {
			*t = r.Tasks[0]
			p.finished[t.Name] = *t
		}
	case TaskSkipped:
		t.State, t.Reason, t.Message = Skipped, r.Reason, r.Message
	case TaskStarted:
		t.State, t.Started, t.Attempt = Running, r.Time, p.status.Attempt
		delete(p.finished, t.Name)
	case TaskFinished:
		t.State, t.Reason, t.Message = r.State, r.Reason, r.Message
		t.Step, t.ExitCode = r.Step, r.ExitCode
		t.Ignored, t.Results, t.Finished = r.Ignored, r.Results, r.Time
		if t.State == Succeeded {
			p.finished[t.Name] = *t
		}
	default:
		applyRun(t, r)
	}
}

func applyRun(t *Task, r Record) {
	i := slices.IndexFunc(t.Runs, func(run TaskRun) bool { return run.Name == r.TaskRun })
	if i < 0 {
		t.Runs = append(t.Runs, TaskRun{Name: r.TaskRun})
		i = len(t.Runs) - 1
	}
	run := &t.Runs[i]
	switch r.Kind {
	case RunStarted:
		run.State, run.Params, run.Started = Running, r.Params, r.Time
	case RunRetried:
		*run = TaskRun{Name: run.Name, Params: run.Params, Retries: run.Retries + 1, State: Running, Started: r.Time}
	case RunFinished:
		run.State, run.Reason, run.Message = r.State, r.Reason, r.Message
		run.Results, run.Finished = r.Results, r.Time
	case StepStarted:
		run.Steps = append(run.Steps, StepStatus{
			Name: r.Step, Program: r.Program, Path: r.Path, Log: r.Log, PID: r.PID, Ticks: r.Ticks,
			State: Running, Started: r.Time,
		})
	case StepFinished:
		if n := len(run.Steps); n > 0 && run.Steps[n-1].Name == r.Step {
			step := &run.Steps[n-1]
			step.State, step.ExitCode, step.Finished = r.State, r.ExitCode, r.Time
		}
	}
}

func (p *progress) task(name string) *Task {
	for i := range p.status.Tasks {
		if p.status.Tasks[i].Name == name {
			return &p.status.Tasks[i]
		}
	}
	return nil
}

// snapshot returns a copy that later records do not change.
func (p *progress) snapshot() Status {
	s := p.status
	s.Tasks = slices.Clone(s.Tasks)
	for i := range s.Tasks {
		s.Tasks[i].Runs = slices.Clone(s.Tasks[i].Runs)
		for j := range s.Tasks[i].Runs {
			s.Tasks[i].Runs[j].Steps = slices.Clone(s.Tasks[i].Runs[j].Steps)
		}
	}
	return s
}

// unfinishedSteps are the processes that records say were started and not that they ended, in any attempt.
func unfinishedSteps(records []Record) []Record {
	open := map[[2]string]Record{}
	for _, r := range records {
		switch key := [2]string{r.TaskRun, r.Step}; r.Kind {
		case StepStarted:
			open[key] = r
		case StepFinished:
			delete(open, key)
		}
	}
	steps := make([]Record, 0, len(open))
	for _, r := range open {
		steps = append(steps, r)
	}
	return steps
}

// freshTasks lists the tasks of spec as a fresh attempt has them.
func freshTasks(spec *v1.PipelineSpec) []Task {
	var tasks []Task
	for _, pt := range spec.Tasks {
		tasks = append(tasks, Task{Name: pt.Name, State: Pending})
	}
	for _, pt := range spec.Finally {
		tasks = append(tasks, Task{Name: pt.Name, State: Pending, Finally: true})
	}
	return tasks
}
