package soak

import (
	"strconv"
	"strings"
	"time"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"bflow.dev/bflow/runplan/contract"
)

// gpu is the resource whose use is judged.
const gpu = "nvidia.com/gpu"

// Observe is what is judged of an object that an API server has told.
func Observe(u *unstructured.Unstructured) Object {
	o := Object{
		Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(), UID: string(u.GetUID()),
		Created:  u.GetCreationTimestamp().UTC(),
		Deleting: u.GetDeletionTimestamp() != nil, Labels: kept(u.GetLabels()), Annotations: kept(u.GetAnnotations()),
	}
	if owner := metav1.GetControllerOf(u); owner != nil {
		o.Owner = string(owner.UID)
	}
	switch o.Kind {
	case Pod:
		observePod(u, &o)
	case PipelineRun:
		if status, reason := condition(u, "Succeeded"); status == "True" || status == "False" {
			o.Done = reason
		}
	case Workload:
		reserved, _ := condition(u, "QuotaReserved")
		finished, _ := condition(u, "Finished")
		o.Holds = reserved == "True" && finished != "True"
	}
	return o
}

// Revision is that of the store of a cluster at which an object, a list or the end of one was told; 0 where it has
// none.
func Revision(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func observePod(u *unstructured.Unstructured, o *Object) {
	var p corev1.Pod
	if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &p) != nil {
		return
	}
	o.Node = p.Spec.NodeName
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		o.Done = string(p.Status.Phase)
	}
	for _, c := range p.Spec.Containers {
		o.GPUs += c.Resources.Requests.Name(gpu, "").Value()
	}
}

// kept are the keys that are judged.
func kept(all map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range all {
		if strings.HasPrefix(key, contract.Prefix) || key == pipeline.PipelineTaskLabelKey ||
			key == pipeline.TaskRunLabelKey || key == pipeline.PipelineRunLabelKey {
			out[key] = value
		}
	}
	for _, long := range []string{contract.AnnotationRequests, contract.AnnotationPods, contract.AnnotationReason} {
		delete(out, long)
	}
	return out
}

func condition(u *unstructured.Unstructured, kind string) (status, reason string) {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == kind {
			status, _ = c["status"].(string)
			reason, _ = c["reason"].(string)
		}
	}
	return status, reason
}

// EventOf is the event of a watch, or of a list that shows a change.
func EventOf(at time.Time, cluster string, verb Verb, u *unstructured.Unstructured) Event {
	return Event{At: at, Cluster: cluster, Verb: verb, Revision: Revision(u.GetResourceVersion()), Object: Observe(u)}
}
