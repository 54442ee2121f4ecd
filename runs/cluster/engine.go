package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
)

// enginePod is a pod of the server under test, with what it is asked for its logs.
type enginePod struct {
	Pod
	containers []string
}

// Engine returns the pods of the server under test of a run, by name. After its task release there are none.
func (c *Cluster) Engine(ctx context.Context, run *Run) ([]Pod, error) {
	all, err := c.enginePods(ctx, run)
	var out []Pod
	for _, p := range all {
		out = append(out, p.Pod)
	}
	return out, err
}

func (c *Cluster) enginePods(ctx context.Context, run *Run) ([]enginePod, error) {
	all, err := kube.List[corev1.Pod](ctx, c.api, pods(run.Namespace, ""),
		kube.Labels(contract.LabelRun+"="+run.ID+","+contract.LabelRelease))
	if err != nil {
		return nil, fmt.Errorf("listing the pods of the server under test: %w", err)
	}
	var out []enginePod
	for _, p := range all {
		out = append(out, podOf(&p))
	}
	slices.SortFunc(out, func(a, b enginePod) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func podOf(p *corev1.Pod) enginePod {
	out := enginePod{Pod: Pod{Name: p.Name, Node: p.Spec.NodeName, State: string(p.Status.Phase)}}
	for _, cond := range p.Status.Conditions {
		switch {
		case cond.Type == corev1.PodReady && cond.Status == corev1.ConditionTrue:
			out.State = "Ready"
		case cond.Type == corev1.PodScheduled && cond.Status == corev1.ConditionFalse:
			out.State, out.Message = cond.Reason, cond.Message
		}
	}
	for _, st := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		out.Restarts += int(st.RestartCount)
		if st.State.Waiting != nil && st.State.Waiting.Reason != "PodInitializing" {
			out.State, out.Message = st.State.Waiting.Reason, st.State.Waiting.Message
		}
		if last := st.LastTerminationState.Terminated; last != nil && out.Message == "" {
			out.Message = fmt.Sprintf("container %s ended before with %s (exit code %d)", st.Name, last.Reason, last.ExitCode)
		}
	}
	if p.DeletionTimestamp != nil {
		out.State = "Terminating"
	}
	for _, container := range p.Spec.Containers {
		out.containers = append(out.containers, container.Name)
	}
	return out
}
