package apply

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// troubleOf returns why a Deployment is not available, according to its ReplicaSet or to its first pod that fails, ""
// if that is not known.
func (c *Cluster) troubleOf(ctx context.Context, deployment *unstructured.Unstructured) string {
	if status, message := condition(deployment, "ReplicaFailure"); status == "True" {
		return message
	}
	labels, _, _ := unstructured.NestedStringMap(deployment.Object, "spec", "selector", "matchLabels")
	selector := metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})
	pods, err := c.List(ctx, schema.GroupKind{Kind: "Pod"}, deployment.GetNamespace(), selector)
	if err != nil || len(labels) == 0 {
		return ""
	}
	for _, pod := range pods {
		if why := podTrouble(pod); why != "" {
			return fmt.Sprintf("pod %q: %s", pod.GetName(), why)
		}
	}
	return ""
}

// podTrouble returns why a pod does not run, in the words of the kubelet or the scheduler, "" if it is only slow.
func podTrouble(pod *unstructured.Unstructured) string {
	if status, message := condition(pod, "PodScheduled"); status == "False" {
		return "Unschedulable: " + message
	}
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		containers, _, _ := unstructured.NestedSlice(pod.Object, "status", field)
		for _, entry := range containers {
			container, ok := entry.(map[string]any)
			if !ok {
				continue
			}
			if why := containerTrouble(container); why != "" {
				return why
			}
		}
	}
	return ""
}

func containerTrouble(container map[string]any) string {
	reason, _, _ := unstructured.NestedString(container, "state", "waiting", "reason")
	message, _, _ := unstructured.NestedString(container, "state", "waiting", "message")
	if reason == "" || reason == "ContainerCreating" || reason == "PodInitializing" {
		return ""
	}
	if reason == "CrashLoopBackOff" {
		if code, found, _ := unstructured.NestedInt64(container, "lastState", "terminated", "exitCode"); found {
			message = fmt.Sprintf("its last exit code was %d", code)
		}
	}
	return strings.TrimSuffix(reason+": "+message, ": ")
}
