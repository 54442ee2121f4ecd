package queue_test

import (
	"strings"

	"bflow.dev/bflow/queue/queuetest"
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

// taskActor acts Tekton and the garbage collector in a world.
type taskActor struct {
	*queuetest.World
	stuck     bool // engine pods do not go away
	forgetful bool // Tekton has not written down which pods it has made
	orphans   bool // Tekton has not written down which tasks it has made
}

// tekton acts Tekton: a run that may start gets its task provision, which leaves an engine; a run that is told to end
// ends as Tekton ends it; tasks of a deleted run go on until they are cancelled.
func (w *taskActor) tekton() {
	var runs tektonv1.PipelineRunList
	w.Must(w.Client.List(w.T.Context(), &runs))
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

func (w *taskActor) tasks() {
	var tasks tektonv1.TaskRunList
	w.Must(w.Client.List(w.T.Context(), &tasks))
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

func (w *taskActor) task(pr *tektonv1.PipelineRun, name string, succeeded bool) {
	task := &tektonv1.TaskRun{ObjectMeta: metav1.ObjectMeta{
		Name: pr.Name + "-" + name, Namespace: ns, UID: types.UID(pr.Name + name),
		Labels: map[string]string{pipeline.PipelineRunLabelKey: pr.Name, pipeline.PipelineTaskLabelKey: name},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Name: pr.Name,
			UID: pr.UID}},
	}, Spec: tektonv1.TaskRunSpec{Workspaces: []tektonv1.WorkspaceBinding{
		{Name: contract.WorkspaceRun,
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "pvc-of-" + pr.Name}},
	}}}
	w.Must(client.IgnoreAlreadyExists(w.Client.Create(w.T.Context(), task)))
	if succeeded {
		w.finishTask(task, true)
	} else {
		w.pod(pr.Name+"-"+name+"-pod", map[string]string{
			pipeline.PipelineRunLabelKey: pr.Name, pipeline.TaskRunLabelKey: task.Name, contract.LabelRun: run.ID(pr),
		})
		w.pod("affinity-assistant-of-"+pr.Name, map[string]string{pipeline.PipelineRunLabelKey: pr.Name})
	}
}

func (w *taskActor) finishTask(task *tektonv1.TaskRun, ok bool) {
	c := &apis.Condition{Type: apis.ConditionSucceeded, Status: "False", Reason: "TaskRunCancelled"}
	if ok {
		c.Status, c.Reason = "True", "Succeeded"
	}
	before := client.MergeFrom(task.DeepCopy())
	task.Status.SetCondition(c)
	task.Status.CompletionTime = &metav1.Time{Time: w.Clock.Now()}
	w.Must(w.Client.Patch(w.T.Context(), task, before))
	if w.forgetful {
		return
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: task.Name + "-pod"}}
	w.Must(client.IgnoreNotFound(w.Client.Delete(w.T.Context(), pod)))
}

func (w *taskActor) endTasks(name string) {
	var tasks tektonv1.TaskRunList
	w.Must(w.Client.List(w.T.Context(), &tasks, client.MatchingLabels{pipeline.PipelineRunLabelKey: name}))
	for _, task := range tasks.Items {
		if !task.IsDone() {
			w.finishTask(&task, false)
		}
	}
}

func (w *taskActor) child(pr *tektonv1.PipelineRun, name string) {
	before := client.MergeFrom(pr.DeepCopy())
	pr.Status.ChildReferences = append(pr.Status.ChildReferences,
		tektonv1.ChildStatusReference{Name: pr.Name + "-" + name, PipelineTaskName: name})
	pr.Status.PipelineSpec = &tektonv1.PipelineSpec{Finally: []tektonv1.PipelineTask{{
		Name: contract.Finish, TaskRef: &tektonv1.TaskRef{Name: "bflow-finish-1"},
		Params:     tektonv1.Params{{Name: contract.ParamStatus, Value: *tektonv1.NewStructuredValues("$(tasks.status)")}},
		Workspaces: []tektonv1.WorkspacePipelineTaskBinding{{Name: contract.WorkspaceRun, Workspace: contract.WorkspaceRun}},
	}}}
	w.Must(w.Client.Status().Patch(w.T.Context(), pr, before))
}

func (w *taskActor) done(pr *tektonv1.PipelineRun, reason string) {
	before := client.MergeFrom(pr.DeepCopy())
	status := corev1.ConditionFalse
	if reason == "Succeeded" {
		status = corev1.ConditionTrue
	}
	pr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: status, Reason: reason})
	now := metav1.NewTime(w.Clock.Now())
	pr.Status.CompletionTime = &now
	w.Must(w.Client.Status().Patch(w.T.Context(), pr, before))
}

// succeed ends a run as a good one ends: released by its own tasks.
func (w *taskActor) succeed(name string) {
	pr := w.Run(name)
	w.endTasks(name)
	w.task(pr, contract.Release, true)
	w.task(pr, contract.Finish, true)
	w.removeEngine(run.ID(pr))
	w.done(pr, "Succeeded")
}

// lose ends a run as one ends whose target took its load away.
func (w *taskActor) lose(name string) {
	pr := w.Run(name)
	task := &tektonv1.TaskRun{}
	w.Must(w.Client.Get(w.T.Context(), types.NamespacedName{Namespace: ns, Name: name + "-" + contract.LoadGen}, task))
	before := client.MergeFrom(task.DeepCopy())
	task.Status.Results = []tektonv1.TaskRunResult{{Name: contract.ResultLost,
		Value: *tektonv1.NewStructuredValues("its pod was deleted")}}
	w.Must(w.Client.Patch(w.T.Context(), task, before))
	w.endTasks(name)
	w.task(pr, contract.Finish, true)
	w.removeEngine(run.ID(pr))
	w.done(pr, "Failed")
}

func engineLabels(id string) map[string]string {
	return map[string]string{contract.LabelRun: id, contract.LabelRelease: id, contract.LabelPlanHash: "abc"}
}

func (w *taskActor) engine(pr *tektonv1.PipelineRun) {
	id := run.ID(pr)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: id + "-engine", Namespace: ns,
		Labels: engineLabels(id)}}
	w.Must(w.Client.Create(w.T.Context(), deployment))
	w.pod(id+"-engine-0", engineLabels(id))
}

func (w *taskActor) pod(name string, labels map[string]string) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns, Labels: labels},
		Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	w.Must(client.IgnoreAlreadyExists(w.Client.Create(w.T.Context(), pod)))
}

func (w *taskActor) removeEngine(id string) {
	for _, o := range []client.Object{
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: id + "-engine"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: id + "-engine-0"}},
	} {
		w.Must(client.IgnoreNotFound(w.Client.Delete(w.T.Context(), o)))
	}
}

// collect acts the garbage collector: pods go after their Deployment, and what a run owned after the run.
func (w *taskActor) collect() {
	var pods corev1.PodList
	w.Must(w.Client.List(w.T.Context(), &pods))
	for _, pod := range pods.Items {
		owner, isEngine := strings.CutSuffix(pod.Name, "-0")
		if !isEngine || w.stuck {
			continue
		}
		err := w.Client.Get(w.T.Context(), types.NamespacedName{Namespace: ns, Name: owner}, &appsv1.Deployment{})
		if client.IgnoreNotFound(err) == nil && err != nil {
			w.Must(client.IgnoreNotFound(w.Client.Delete(w.T.Context(), &pod)))
		}
	}
}
