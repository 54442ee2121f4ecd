package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Restarts says how often the containers of an engine had been started again when it became ready, by POD/CONTAINER.
// One that never was is not in it. An engine may crash while it loads and serve a whole load afterwards.
type Restarts map[string]int32

// RestartsOf returns those of pods.
func RestartsOf(pods []*corev1.Pod) Restarts {
	restarts := Restarts{}
	for _, pod := range pods {
		for _, c := range pod.Status.ContainerStatuses {
			if c.RestartCount > 0 {
				restarts[pod.Name+"/"+c.Name] = c.RestartCount
			}
		}
	}
	return restarts
}

// Restarts asks for those of the engine of run as it is now.
func (c *Cluster) Restarts(ctx context.Context, run Run) (Restarts, error) {
	found, err := all[corev1.Pod](ctx, c, pods, run.selector())
	return RestartsOf(found), err
}

// end is the end of a container since r was taken, nil where it has run ever since. The node counts a restart when the
// container runs again: one that waits for that has ended, whatever the count says.
func (r Restarts) end(pod *corev1.Pod, c corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	switch {
	case c.State.Terminated != nil:
		return c.State.Terminated
	case c.State.Running == nil || c.RestartCount > r[pod.Name+"/"+c.Name]:
		return c.LastTerminationState.Terminated
	}
	return nil
}

// Interrupted says how an engine of n pods, all ready at that time and restarted as often as before says, did not live
// until now; "" where it did.
func Interrupted(pods []*corev1.Pod, n int, ready time.Time, before Restarts) string {
	for _, pod := range pods {
		for _, c := range pod.Status.ContainerStatuses {
			if end := before.end(pod, c); end != nil {
				return fmt.Sprintf("%s (exit code %d) in pod %s", orElse(end.Reason, "Error"), end.ExitCode, pod.Name)
			}
		}
		if pod.Status.Phase == corev1.PodFailed {
			return fmt.Sprintf("%s of pod %s: %s", orElse(pod.Status.Reason, "the failure"), pod.Name,
				sentence(pod.Status.Message))
		}
		if pod.CreationTimestamp.After(ready.Add(time.Second)) {
			return "the loss of a pod, in whose place came " + pod.Name
		}
	}
	if len(pods) < n {
		return fmt.Sprintf("the loss of %d of its %d pods", n-len(pods), n)
	}
	return ""
}
