package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/kube"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// troubleOf returns why a Deployment is not available, according to its ReplicaSet or to its first pod that fails, ""
// if that is not known.
func (c *Cluster) troubleOf(ctx context.Context, deployment *unstructured.Unstructured) string {
	if status, message := condition(deployment, "ReplicaFailure"); status == "True" {
		return message
	}
	labels, _, _ := unstructured.NestedStringMap(deployment.Object, "spec", "selector", "matchLabels")
	selector := metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})
	at := kube.Core("pods", deployment.GetNamespace(), "")
	pods, err := kube.List[corev1.Pod](ctx, c.api, at, kube.Labels(selector))
	if err != nil || len(labels) == 0 {
		return ""
	}
	for i := range pods {
		if why := podTrouble(&pods[i]); why != "" {
			return fmt.Sprintf("pod %q: %s", pods[i].Name, why)
		}
	}
	return ""
}

// podTrouble returns why a pod does not run, in the words of the kubelet or the scheduler, "" if it is only slow.
func podTrouble(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "Unschedulable: " + c.Message
		}
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if why := containerTrouble(s); why != "" {
			return why
		}
	}
	return ""
}

func containerTrouble(s corev1.ContainerStatus) string {
	waits := s.State.Waiting
	if waits == nil || waits.Reason == "" || waits.Reason == "ContainerCreating" || waits.Reason == "PodInitializing" {
		return ""
	}
	message := waits.Message
	if ended := s.LastTerminationState.Terminated; waits.Reason == "CrashLoopBackOff" && ended != nil {
		message = fmt.Sprintf("its last exit code was %d", ended.ExitCode)
	}
	return strings.TrimSuffix(waits.Reason+": "+message, ": ")
}
