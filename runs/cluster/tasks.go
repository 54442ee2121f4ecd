package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/pipelines/local"
	queuerun "bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"knative.dev/pkg/apis"
)

// taskList are the tasks of an attempt in the order of its Pipeline, finally tasks last. A run that waits has none yet.
func taskList(pr *tektonv1.PipelineRun, runs []tektonv1.TaskRun) []local.Task {
	byTask := map[string]*tektonv1.TaskRun{}
	for i, tr := range runs {
		if tr.Labels[pipeline.PipelineRunLabelKey] == pr.Name {
			byTask[tr.Labels[pipeline.PipelineTaskLabelKey]] = &runs[i]
		}
	}
	var tasks []local.Task
	done := pr.IsDone()
	for _, t := range declared(pr) {
		task := local.Task{Name: t.Name, Finally: t.Finally, State: local.Pending, Attempt: queuerun.Attempt(pr)}
		if tr := byTask[t.Name]; tr != nil {
			fill(&task, tr)
		} else if done {
			task.State = local.Skipped
		}
		for _, skipped := range pr.Status.SkippedTasks {
			if skipped.Name == t.Name {
				task.State, task.Reason = local.Skipped, string(skipped.Reason)
			}
		}
		tasks = append(tasks, task)
	}
	return tasks
}

// declared are the names of the tasks of an attempt, as Tekton keeps the Pipeline in its status.
func declared(pr *tektonv1.PipelineRun) []local.Task {
	spec := pr.Status.PipelineSpec
	if spec == nil {
		return nil
	}
	var tasks []local.Task
	for _, t := range spec.Tasks {
		tasks = append(tasks, local.Task{Name: t.Name})
	}
	for _, t := range spec.Finally {
		tasks = append(tasks, local.Task{Name: t.Name, Finally: true})
	}
	return tasks
}

// fill takes over what a TaskRun says.
func fill(task *local.Task, tr *tektonv1.TaskRun) {
	task.State, task.Reason = taskState(tr)
	task.Started = tr.CreationTimestamp.UTC() // Tekton writes its own time a moment later
	if tr.Status.StartTime != nil {
		task.Started = tr.Status.StartTime.UTC()
	}
	if tr.Status.CompletionTime != nil {
		task.Finished = tr.Status.CompletionTime.UTC()
	}
	task.Results = local.Results{}
	for _, r := range tr.Status.Results {
		task.Results[r.Name] = r.Value
	}
	run := local.TaskRun{Name: tr.Name, State: task.State, Reason: task.Reason, Started: task.Started,
		Finished: task.Finished,
		Retries:  len(tr.Status.RetriesStatus), Results: task.Results}
	for _, st := range tr.Status.Steps {
		run.Steps = append(run.Steps, stepStatus(st))
	}
	task.Message = taskMessage(task, tr)
	if st := failedStep(tr); st != nil {
		task.ExitCode = int(st.Terminated.ExitCode)
		if len(tr.Status.Steps) > 1 && task.State != local.Succeeded {
			task.Step = st.Name
		}
	}
	run.Message = task.Message
	task.Runs = []local.TaskRun{run}
}

func taskState(tr *tektonv1.TaskRun) (local.State, string) {
	cond := tr.Status.GetCondition(apis.ConditionSucceeded)
	switch {
	case cond == nil:
		return local.Running, ""
	case cond.Status == corev1.ConditionTrue:
		return local.Succeeded, cond.Reason
	case cond.Status != corev1.ConditionFalse:
		return local.Running, cond.Reason
	}
	switch tektonv1.TaskRunReason(cond.Reason) {
	case tektonv1.TaskRunReasonCancelled:
		return local.Cancelled, cond.Reason
	case tektonv1.TaskRunReasonTimedOut:
		return local.TimedOut, cond.Reason
	}
	return local.Failed, cond.Reason
}

func stepStatus(st tektonv1.StepState) local.StepStatus {
	s := local.StepStatus{Name: st.Name, State: local.Pending}
	switch {
	case st.Terminated != nil:
		s.State, s.ExitCode = local.Succeeded, int(st.Terminated.ExitCode)
		if s.ExitCode != 0 {
			s.State = local.Failed
		}
		s.Started, s.Finished = st.Terminated.StartedAt.UTC(), st.Terminated.FinishedAt.UTC()
	case st.Running != nil:
		s.State, s.Started = local.Running, st.Running.StartedAt.UTC()
	}
	return s
}

// failedStep is the first step that failed, nil where none has.
func failedStep(tr *tektonv1.TaskRun) *tektonv1.StepState {
	for i, st := range tr.Status.Steps {
		if st.Terminated != nil && st.Terminated.ExitCode != 0 {
			return &tr.Status.Steps[i]
		}
	}
	return nil
}

// taskMessage says why a task fell, by the task's own word where it left one, or what keeps it from its work.
func taskMessage(task *local.Task, tr *tektonv1.TaskRun) string {
	cond := tr.Status.GetCondition(apis.ConditionSucceeded)
	if cond == nil || task.State == local.Succeeded || task.State == local.Cancelled {
		return ""
	}
	message := plain(cond.Message)
	if task.State == local.Running {
		switch {
		case cond.Reason == noNode: // Tekton says no more; the pod does
			return cannotStart + "no node has enough left for it"
		case isBlocked(message):
			return cannotStart + scheduler(message)
		}
		return ""
	}
	if why := task.Results[contract.ResultReason].StringVal; why != "" {
		return stepMessage(tr, why)
	}
	return message
}

// stepMessage is the sentence of a failed step as the local executor writes it.
func stepMessage(tr *tektonv1.TaskRun, why string) string {
	if st := failedStep(tr); st != nil {
		return fmt.Sprintf("step %q exited with code %d: %s", st.Name, st.Terminated.ExitCode, why)
	}
	return why
}

const (
	cannotStart = "its pod cannot start: "
	noNode      = "ExceededNodeResources" // Tekton's word for a pod that the scheduler has too little CPU or memory for
)

// scheduler is what the scheduler says of a pod, without what preemption could not do; other messages stay as they are.
func scheduler(message string) string {
	const sign = " nodes are available: "
	at := strings.Index(message, sign)
	if at < 0 {
		return message
	}
	begin := strings.LastIndexAny(message[:at], " \"") + 1
	said, _, _ := strings.Cut(message[begin:], ". ")
	return strings.TrimRight(said, ".\"")
}

// noNodes tells of tasks that wait for a node what the scheduler says of their pods.
func (d details) noNodes(ctx context.Context, runs []tektonv1.TaskRun) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	for i := range d.Tasks {
		t := &d.Tasks[i]
		if t.State != local.Running || t.Reason != noNode || len(t.Runs) == 0 {
			continue
		}
		at := slices.IndexFunc(runs, func(tr tektonv1.TaskRun) bool { return tr.Name == t.Runs[0].Name })
		if at < 0 || runs[at].Status.PodName == "" {
			continue
		}
		pod, err := kube.Get[corev1.Pod](ctx, d.api, pods(d.Namespace, runs[at].Status.PodName))
		if err != nil { // who may not see pods has the first half of the sentence
			continue
		}
		for _, cond := range pod.Status.Conditions {
			if cond.Type == corev1.PodScheduled && cond.Status == corev1.ConditionFalse && cond.Message != "" {
				t.Message = cannotStart + scheduler(cond.Message)
			}
		}
	}
	if d.State == local.Running && strings.HasPrefix(d.Message, "task ") {
		d.Message = waiting(d.Status)
	}
}

// isBlocked tells what a person has to mend from the stations every pod passes.
func isBlocked(message string) bool {
	return slices.ContainsFunc([]string{"nodes are available", "Unschedulable", "ImagePull", "ErrImage", "InvalidImage",
		"CreateContainer", "exceeded quota",
		"not found", "forbidden"}, func(sign string) bool { return strings.Contains(message, sign) })
}
