package kube

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// PodTrouble returns why a pod does not run, in the words of the kubelet or the scheduler, "" if it is only slow.
func PodTrouble(pod *corev1.Pod) string {
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
