package queue_test

import (
	"strings"

	"bflow.dev/bflow/queue/release"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tekton acts Tekton: a run that may start gets its task provision, which leaves an engine; a run that is told to end
// ends as Tekton ends it; tasks of a deleted run go on until they are cancelled.
func (w *world) tekton() {
	var runs tektonv1.PipelineRunList
	w.must(w.client.List(w.t.Context(), &runs))
	for _, pr := range runs.Items {
		switch {
		case !pr.DeletionTimestamp.IsZero() || pr.IsDone() || pr.IsPending():
		case pr.IsCancelled() && len(pr.Status.ChildReferences) == 0:
			w.done(&pr, "Cancelled")
		case pr.IsCancelled() && w.orphans:
			w.done(&pr, "Cancelled")
		case pr.IsCancelled():
			w.endTasks(pr.Name)
			w.done(&pr, "Cancelled")
		case pr.IsGracefullyCancelled():
			w.endTasks(pr.Name)
			w.task(&pr, contract.Finish, true)
			w.removeEngine(run.ID(&pr))
			w.done(&pr, "Cancelled")
		case len(pr.Status.ChildReferences) == 0:
			w.task(&pr, contract.Provision, true)
			w.task(&pr, contract.LoadGen, false)
			w.engine(&pr)
			w.child(&pr, contract.Provision)
		}
	}
	w.tasks()
}

func (w *world) tasks() {
	var tasks tektonv1.TaskRunList
	w.must(w.client.List(w.t.Context(), &tasks))
	for _, task := range tasks.Items {
		if task.IsDone() {
			continue
		}
		switch {
		case task.IsCancelled():
			w.finishTask(&task, false)
		case task.Annotations[release.AnnotationFinishes] != "":
			w.finishTask(&task, true)
		}
	}
}

func (w *world) task(pr *tektonv1.PipelineRun, name string, succeeded bool) {
	task := &tektonv1.TaskRun{ObjectMeta: metav1.ObjectMeta{
		Name: pr.Name + "-" + name, Namespace: ns, UID: types.UID(pr.Name + name),
		Labels:          map[string]string{pipeline.PipelineRunLabelKey: pr.Name, pipeline.PipelineTaskLabelKey: name},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Name: pr.Name, UID: pr.UID}},
	}, Spec: tektonv1.TaskRunSpec{Workspaces: []tektonv1.WorkspaceBinding{
		{Name: contract.WorkspaceRun, PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "pvc-of-" + pr.Name}},
	}}}
	w.must(client.IgnoreAlreadyExists(w.client.Create(w.t.Context(), task)))
	if succeeded {
		w.finishTask(task, true)
	} else {
		w.pod(pr.Name+"-"+name+"-pod", map[string]string{
			pipeline.PipelineRunLabelKey: pr.Name, pipeline.TaskRunLabelKey: task.Name, contract.LabelRun: run.ID(pr),
		})
		w.pod("affinity-assistant-of-"+pr.Name, map[string]string{pipeline.PipelineRunLabelKey: pr.Name})
	}
}

func (w *world) finishTask(task *tektonv1.TaskRun, ok bool) {
	c := &apis.Condition{Type: apis.ConditionSucceeded, Status: "False", Reason: "TaskRunCancelled"}
	if ok {
		c.Status, c.Reason = "True", "Succeeded"
	}
	before := client.MergeFrom(task.DeepCopy())
	task.Status.SetCondition(c)
	task.Status.CompletionTime = &metav1.Time{Time: w.clock.Now()}
	w.must(w.client.Patch(w.t.Context(), task, before))
	if w.forgetful {
		return
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: task.Name + "-pod"}}
	w.must(client.IgnoreNotFound(w.client.Delete(w.t.Context(), pod)))
}

func (w *world) endTasks(name string) {
	var tasks tektonv1.TaskRunList
	w.must(w.client.List(w.t.Context(), &tasks, client.MatchingLabels{pipeline.PipelineRunLabelKey: name}))
	for _, task := range tasks.Items {
		if !task.IsDone() {
			w.finishTask(&task, false)
		}
	}
}

func (w *world) child(pr *tektonv1.PipelineRun, name string) {
	before := client.MergeFrom(pr.DeepCopy())
	pr.Status.ChildReferences = append(pr.Status.ChildReferences, tektonv1.ChildStatusReference{Name: pr.Name + "-" + name, PipelineTaskName: name})
	pr.Status.PipelineSpec = &tektonv1.PipelineSpec{Finally: []tektonv1.PipelineTask{{
		Name: contract.Finish, TaskRef: &tektonv1.TaskRef{Name: "bflow-finish-1"},
		Params:     tektonv1.Params{{Name: contract.ParamStatus, Value: *tektonv1.NewStructuredValues("$(tasks.status)")}},
		Workspaces: []tektonv1.WorkspacePipelineTaskBinding{{Name: contract.WorkspaceRun, Workspace: contract.WorkspaceRun}},
	}}}
	w.must(w.client.Status().Patch(w.t.Context(), pr, before))
}

func (w *world) done(pr *tektonv1.PipelineRun, reason string) {
	before := client.MergeFrom(pr.DeepCopy())
	status := corev1.ConditionFalse
	if reason == "Succeeded" {
		status = corev1.ConditionTrue
	}
	pr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: status, Reason: reason})
	now := metav1.NewTime(w.clock.Now())
	pr.Status.CompletionTime = &now
	w.must(w.client.Status().Patch(w.t.Context(), pr, before))
}

// succeed ends a run as a good one ends: released by its own tasks.
func (w *world) succeed(name string) {
	pr := w.run(name)
	w.endTasks(name)
	w.task(pr, contract.Release, true)
	w.task(pr, contract.Finish, true)
	w.removeEngine(run.ID(pr))
	w.done(pr, "Succeeded")
}

// lose ends a run as one ends whose target took its load away.
func (w *world) lose(name string) {
	pr := w.run(name)
	task := &tektonv1.TaskRun{}
	w.must(w.client.Get(w.t.Context(), types.NamespacedName{Namespace: ns, Name: name + "-" + contract.LoadGen}, task))
	before := client.MergeFrom(task.DeepCopy())
	task.Status.Results = []tektonv1.TaskRunResult{{Name: contract.ResultLost, Value: *tektonv1.NewStructuredValues("its pod was deleted")}}
	w.must(w.client.Patch(w.t.Context(), task, before))
	w.endTasks(name)
	w.task(pr, contract.Finish, true)
	w.removeEngine(run.ID(pr))
	w.done(pr, "Failed")
}

func engineLabels(id string) map[string]string {
	return map[string]string{contract.LabelRun: id, contract.LabelRelease: id, contract.LabelPlanHash: "abc"}
}

func (w *world) engine(pr *tektonv1.PipelineRun) {
	id := run.ID(pr)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: id + "-engine", Namespace: ns, Labels: engineLabels(id)}}
	w.must(w.client.Create(w.t.Context(), deployment))
	w.pod(id+"-engine-0", engineLabels(id))
}

func (w *world) pod(name string, labels map[string]string) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns, Labels: labels}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	w.must(client.IgnoreAlreadyExists(w.client.Create(w.t.Context(), pod)))
}

func (w *world) removeEngine(id string) {
	for _, o := range []client.Object{
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: id + "-engine"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: id + "-engine-0"}},
	} {
		w.must(client.IgnoreNotFound(w.client.Delete(w.t.Context(), o)))
	}
}

// collect acts the garbage collector: pods go after their Deployment, and what a run owned after the run.
func (w *world) collect() {
	var pods corev1.PodList
	w.must(w.client.List(w.t.Context(), &pods))
	for _, pod := range pods.Items {
		owner, isEngine := strings.CutSuffix(pod.Name, "-0")
		if !isEngine || w.stuck {
			continue
		}
		err := w.client.Get(w.t.Context(), types.NamespacedName{Namespace: ns, Name: owner}, &appsv1.Deployment{})
		if client.IgnoreNotFound(err) == nil && err != nil {
			w.must(client.IgnoreNotFound(w.client.Delete(w.t.Context(), &pod)))
		}
	}
}
