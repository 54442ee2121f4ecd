package release

import (
	"context"
	"fmt"
	"strings"
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	"github.com/tektoncd/pipeline/pkg/apis/pipeline/pod"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/kmeta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// AnnotationFinishes names, on a TaskRun of ours, the PipelineRun that it ends.
	AnnotationFinishes = contract.Prefix + "finishes"

	finishTimeout    = 15 * time.Minute // for a run that says nothing of its finally
	finishStartGrace = 2 * time.Minute  // for the pod of finish to start, beside its own time
)

// finish says what the end of the run waits for in the way of Task finish, "" for nothing. A run that ends without its
// finally (cancelled outright, timed out, deleted) gets a TaskRun of its own: the same Task, params and volumes. In a
// namespace that is being deleted it gets none, and is torn down all the same.
func (r *Reconciler) finish(ctx context.Context, pr *tektonv1.PipelineRun, w work) (string, error) {
	if len(w.tasks) == 0 || run.Forced(pr) { // by force: no task runs any more, and the controller tears down alone
		return "", nil
	}
	for _, task := range w.tasks {
		switch {
		case pipelineTask(&task) != contract.Finish:
		case task.IsSuccessful():
			return "", nil
		case !task.IsDone():
			if !r.late(pr, r.endedAt(pr)) {
				return "task finish of the run", nil
			}
		}
	}
	own := &tektonv1.TaskRun{}
	err := r.live.Get(ctx, client.ObjectKey{Namespace: pr.Namespace, Name: finishName(pr)}, own)
	switch {
	case apierrors.IsNotFound(err) && len(w.pods) == 0:
		return r.startFinish(ctx, pr, w)
	case apierrors.IsNotFound(err) && r.overdue(pr, w):
		return "", nil
	case apierrors.IsNotFound(err):
		return "its tasks to end, for finish to follow", nil // finish writes the same volume, and MLflow
	case err != nil:
		return "", fmt.Errorf("reading task finish: %w", err)
	case own.IsDone() || r.late(pr, own.CreationTimestamp.Time):
		return "", nil
	}
	return "task finish", nil
}

func (r *Reconciler) startFinish(ctx context.Context, pr *tektonv1.PipelineRun, w work) (string, error) {
	if foreground(pr) {
		r.events.Eventf(pr, nil, corev1.EventTypeWarning, "NoFinish", "Release",
			"Its volume is deleted with it (foreground deletion), so task finish cannot run: its MLflow run may stay open")
		return "", nil
	}
	whole := &tektonv1.PipelineRun{} // caches leave out the Pipeline of a run
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(pr), whole); err != nil {
		return "", err
	}
	task := finishTask(whole, w.tasks)
	if task == nil {
		return "", nil
	}
	err := r.client.Create(ctx, task)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) { // which takes nothing new, an event neither
		r.opts.Log.Warn("task finish cannot run in a namespace that is being deleted: the MLflow run may stay open",
			"namespace", pr.Namespace, "run", run.ID(pr))
		return "", nil
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("starting task finish: %w", err)
	}
	r.events.Eventf(pr, nil, corev1.EventTypeNormal, "StartedFinish", "Release",
		"Started %s, because the run ended without its task finish", task.Name)
	return "task finish", nil
}

// late says whether a finish that began then had all its time.
func (r *Reconciler) late(pr *tektonv1.PipelineRun, began time.Time) bool {
	return r.opts.Clock.Since(began) > finishTime(pr)+finishStartGrace
}

func finishTime(pr *tektonv1.PipelineRun) time.Duration {
	if d := pr.FinallyTimeout(); d != nil && d.Duration > 0 {
		return d.Duration
	}
	return finishTimeout
}

// foreground says whether what the run owns is deleted before the run, its volume too.
func foreground(pr *tektonv1.PipelineRun) bool {
	for _, f := range pr.Finalizers {
		if f == metav1.FinalizerDeleteDependents {
			return true
		}
	}
	return false
}

// finishTask is the TaskRun that Tekton would have made for the finally of whole; nil when its Pipeline has none.
func finishTask(whole *tektonv1.PipelineRun, siblings []tektonv1.TaskRun) *tektonv1.TaskRun {
	task := pipelineFinish(whole)
	if task == nil {
		return nil
	}
	spec := whole.GetTaskRunSpec(contract.Finish)
	tr := &tektonv1.TaskRun{
		ObjectMeta: metav1.ObjectMeta{
			Name: finishName(whole), Namespace: whole.Namespace,
			Labels: map[string]string{
				contract.LabelRun: run.ID(whole), contract.LabelAttempt: whole.Labels[contract.LabelAttempt],
				contract.LabelPlanHash:  whole.Labels[contract.LabelPlanHash],
				contract.LabelManagedBy: contract.ManagedBy, contract.LabelRole: contract.Finish,
			},
			Annotations: map[string]string{AnnotationFinishes: whole.Name},
		},
		Spec: tektonv1.TaskRunSpec{
			TaskRef: task.TaskRef, Params: finishParams(whole, task.Params), Workspaces: finishWorkspaces(task, siblings),
			ServiceAccountName: spec.ServiceAccountName, PodTemplate: besideTheVolume(whole.Name, spec.PodTemplate),
			StepSpecs:        spec.StepSpecs,
			ComputeResources: spec.ComputeResources, Timeout: &metav1.Duration{Duration: finishTime(whole)},
		},
	}
	if task.TaskSpec != nil {
		tr.Spec.TaskSpec = &task.TaskSpec.TaskSpec
	}
	if whole.DeletionTimestamp.IsZero() { // what a deleted run owns may go before it
		tr.OwnerReferences = []metav1.OwnerReference{run.Owner(whole)}
	}
	return tr
}

// besideTheVolume prefers the node where Tekton's affinity assistant holds the volume of the run, if it still does: a
// volume of one node cannot be mounted on another.
func besideTheVolume(name string, template *pod.PodTemplate) *pod.PodTemplate {
	out := &pod.PodTemplate{}
	if template != nil {
		out = template.DeepCopy()
	}
	if out.Affinity == nil {
		out.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
				{Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{
					LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{pipeline.PipelineRunLabelKey: name}},
					TopologyKey:   corev1.LabelHostname,
				}}},
		}}
	}
	return out
}

func pipelineFinish(whole *tektonv1.PipelineRun) *tektonv1.PipelineTask {
	if whole.Status.PipelineSpec == nil {
		return nil
	}
	for i, task := range whole.Status.PipelineSpec.Finally {
		if task.Name == contract.Finish {
			return &whole.Status.PipelineSpec.Finally[i]
		}
	}
	return nil
}

// finishParams puts in what Tekton would know only when the tasks have ended. Its spec in the status of a run has the
// params and names of the run already.
func finishParams(whole *tektonv1.PipelineRun, params tektonv1.Params) tektonv1.Params {
	out := make(tektonv1.Params, 0, len(params))
	for _, p := range params {
		p = *p.DeepCopy()
		p.Value.StringVal = strings.ReplaceAll(p.Value.StringVal, "$(tasks.status)", tasksStatus(whole))
		if strings.Contains(p.Value.StringVal, "$(tasks.") { // a result of a task that did not come to its end
			p.Value.StringVal = ""
		}
		out = append(out, p)
	}
	return out
}

// tasksStatus is the word of $(tasks.status): None for a run that was ended from outside.
func tasksStatus(whole *tektonv1.PipelineRun) string {
	timedOut := tektonv1.PipelineRunReasonTimedOut.String()
	if c := whole.Status.GetCondition("Succeeded"); c != nil && c.Reason == timedOut {
		return "Failed"
	}
	return "None"
}

// finishWorkspaces are those of the tasks that ran: their bindings name the volume that was made for the run.
func finishWorkspaces(task *tektonv1.PipelineTask, siblings []tektonv1.TaskRun) []tektonv1.WorkspaceBinding {
	bound := map[string]tektonv1.WorkspaceBinding{}
	for _, sibling := range siblings {
		for _, ws := range sibling.Spec.Workspaces {
			bound[ws.Name] = ws
		}
	}
	var out []tektonv1.WorkspaceBinding
	for _, ws := range task.Workspaces {
		if b, ok := bound[ws.Name]; ok {
			out = append(out, b)
		}
	}
	return out
}

// finishName is not the name that Tekton gives to task finish of the run, which may exist and have failed.
func finishName(pr *tektonv1.PipelineRun) string { return kmeta.ChildName(pr.Name, "-finish-again") }
