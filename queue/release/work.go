package release

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cancelMessage is what a person reads on a task that Tekton has left behind.
const cancelMessage = "The run is over."

// work is what Tekton does for a run.
type work struct {
	tasks []tektonv1.TaskRun
	pods  []string // names of task pods that have not come to their end: they may still make something on the target
}

// work lists the tasks of the run, which is over, and tells those to end that go on: Tekton looks after it no more.
func (r *Reconciler) work(ctx context.Context, pr *tektonv1.PipelineRun) (work, error) {
	of := []client.ListOption{client.InNamespace(pr.Namespace),
		client.MatchingLabels{pipeline.PipelineRunLabelKey: pr.Name}}
	var w work
	var tasks tektonv1.TaskRunList
	if err := r.live.List(ctx, &tasks, of...); err != nil {
		return w, fmt.Errorf("listing tasks: %w", err)
	}
	for _, task := range tasks.Items {
		if !ownedBy(&task, pr) { // of an older run of this name
			continue
		}
		w.tasks = append(w.tasks, task)
		if err := r.cancelTask(ctx, pr, &task); err != nil {
			return w, err
		}
	}
	var pods corev1.PodList
	// The affinity assistant, which holds the volume, is of the run too, but of no task. It stays as long as the run.
	if err := r.live.List(ctx, &pods, append(of, client.HasLabels{pipeline.TaskRunLabelKey})...); err != nil {
		return w, fmt.Errorf("listing task pods: %w", err)
	}
	for _, pod := range pods.Items {
		if ended(&pod) {
			continue
		}
		w.pods = append(w.pods, pod.Name)
		if err := r.endPod(ctx, pr, w.tasks, &pod); err != nil {
			return w, err
		}
	}
	return w, nil
}

// endPod deletes a pod that goes on though its task is over: a controller of Tekton that dies after it has made a pod
// and before it has written down its name forgets it, and only cancels the task.
func (r *Reconciler) endPod(ctx context.Context, pr *tektonv1.PipelineRun, tasks []tektonv1.TaskRun,
	pod *corev1.Pod) error {
	i := slices.IndexFunc(tasks, func(t tektonv1.TaskRun) bool { return t.Name == pod.Labels[pipeline.TaskRunLabelKey] })
	if i < 0 || !pod.DeletionTimestamp.IsZero() || !tasks[i].IsDone() {
		return nil
	}
	over := run.EndedAt(pr)
	if at := tasks[i].Status.CompletionTime; at != nil {
		over = at.Time
	}
	if r.opts.Clock.Since(over) < taskPodGrace {
		return nil
	}
	if err := client.IgnoreNotFound(r.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})); err != nil {
		return fmt.Errorf("deleting task pod %q: %w", pod.Name, err)
	}
	r.events.Eventf(pr, nil, corev1.EventTypeWarning, "DeletedTaskPod", "Release",
		"Deleted Pod %s, which still ran %s after its task was over", pod.Name, r.opts.Clock.Since(over).Round(time.Second))
	return nil
}

// lost says how the target took a task of a failed run away, "" where it did not, or where somebody ended the run.
func (w work) lost(pr *tektonv1.PipelineRun) string {
	if !pr.IsDone() || pr.IsSuccessful() || run.Stopping(pr) || run.Cancelling(pr) || run.Cause(pr) != "" ||
		!pr.DeletionTimestamp.IsZero() {
		return ""
	}
	for _, task := range w.tasks {
		for _, result := range task.Status.Results {
			if result.Name == contract.ResultLost && !task.IsSuccessful() {
				return pipelineTask(&task) + ": " + result.Value.StringVal
			}
		}
	}
	return ""
}

// cancelTask ends a task of a run that is over, except finish, which is what we would let run next. The tasks of a
// deleted run go on; so does one of a cancelled run whose name Tekton had not written down when its controller died.
func (r *Reconciler) cancelTask(ctx context.Context, pr *tektonv1.PipelineRun, task *tektonv1.TaskRun) error {
	if !run.Over(pr) || task.IsDone() || task.IsCancelled() || pipelineTask(task) == contract.Finish {
		return nil
	}
	before := client.MergeFrom(task.DeepCopy())
	task.Spec.Status = tektonv1.TaskRunSpecStatusCancelled
	task.Spec.StatusMessage = cancelMessage
	if err := client.IgnoreNotFound(r.client.Patch(ctx, task, before)); err != nil {
		return fmt.Errorf("cancelling task %q: %w", task.Name, err)
	}
	return nil
}

func pipelineTask(task *tektonv1.TaskRun) string { return task.Labels[pipeline.PipelineTaskLabelKey] }

func ownedBy(o metav1.Object, pr *tektonv1.PipelineRun) bool {
	for _, owner := range o.GetOwnerReferences() {
		if owner.UID == pr.UID {
			return true
		}
	}
	return false
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
