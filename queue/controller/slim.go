package controller

import (
	"bflow.dev/bflow/queue/release"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// What follows is what caches keep of an object. Whoever changes one patches what differs from what is kept, so that
// what is left out stays on the server. Whoever makes something of a whole run reads it past the cache.

// lastApplied is where kubectl apply writes the whole object once more.
const lastApplied = corev1.LastAppliedConfigAnnotation

// slimRun leaves out the Pipeline, which is most of a run that has begun, and of one that is over for everybody also
// what it was to do: thousands of those are there for a month.
func slimRun(o any) (any, error) {
	pr, ok := o.(*tektonv1.PipelineRun)
	if !ok {
		return o, nil
	}
	pr.ManagedFields = nil
	delete(pr.Annotations, lastApplied)
	pr.Status.PipelineSpec = nil
	pr.Status.Provenance = nil
	pr.Status.SpanContext = nil
	pr.Status.SkippedTasks = nil
	for i, child := range pr.Status.ChildReferences {
		slim := tektonv1.ChildStatusReference{Name: child.Name, PipelineTaskName: child.PipelineTaskName}
		slim.Kind = child.Kind
		pr.Status.ChildReferences[i] = slim
	}
	if pr.IsDone() && !run.Holding(pr) {
		pr.Spec = tektonv1.PipelineRunSpec{Status: pr.Spec.Status, Timeouts: pr.Spec.Timeouts}
	}
	return o, nil
}

// slimTask keeps whose a task is, how it is, its pod, and which volume it has: a run has a dozen of them.
func slimTask(o any) (any, error) {
	tr, ok := o.(*tektonv1.TaskRun)
	if !ok {
		return o, nil
	}
	tr.ManagedFields = nil
	finishes, there := tr.Annotations[release.AnnotationFinishes]
	tr.Annotations = nil // Tekton repeats those of the run in each task
	if there {
		tr.Annotations = map[string]string{release.AnnotationFinishes: finishes}
	}
	spec := tektonv1.TaskRunSpec{Status: tr.Spec.Status, StatusMessage: tr.Spec.StatusMessage}
	for _, w := range tr.Spec.Workspaces {
		if w.Name == contract.WorkspaceRun {
			spec.Workspaces = append(spec.Workspaces, w)
		}
	}
	tr.Spec = spec
	status := tektonv1.TaskRunStatus{}
	status.Conditions = tr.Status.Conditions
	status.PodName = tr.Status.PodName
	status.StartTime, status.CompletionTime = tr.Status.StartTime, tr.Status.CompletionTime
	tr.Status = status
	return o, nil
}

// slimPod keeps who a pod belongs to and how it is.
func slimPod(o any) (any, error) {
	if pod, ok := o.(*corev1.Pod); ok {
		pod.ManagedFields = nil
		pod.Annotations = nil
		pod.Spec = corev1.PodSpec{}
		pod.Status = corev1.PodStatus{Phase: pod.Status.Phase}
	}
	return o, nil
}

// slimWorkload leaves out the pods of Workloads that are no run's: a Kueue that serves others has thousands of those.
func slimWorkload(o any) (any, error) {
	if wl, ok := o.(*kueue.Workload); ok {
		wl.ManagedFields = nil
		if len(wl.OwnerReferences) > 0 && wl.OwnerReferences[0].Kind != "PipelineRun" {
			wl.Spec.PodSets = nil
		}
	}
	return o, nil
}
