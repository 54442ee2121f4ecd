package remotetask

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/provision/cluster"
	"bflow.dev/bflow/tasks/step"

	corev1 "k8s.io/api/core/v1"
)

// lostError says that the pod of a task ended before its results were here.
type lostError struct {
	why   string
	taken bool // the target took it away: another attempt may fare better
}

func (e *lostError) Error() string { return e.why }

// markLost writes into the result of a load that it is a part, in the words of load-gen: what was followed until then
// stays, and whoever reads the result sees that it is not whole, and why.
func markLost(runDir string, o *Options, endpoint string, lost *lostError, now time.Time) error {
	n := o.measurement()
	path := filepath.Join(report.MeasurementDir(runDir, n), contract.FileLoadGen)
	var l report.LoadGen
	_ = step.ReadJSON(path, &l) // one that is missing, or damaged, is made
	l.Schema, l.Measurement = report.LoadGenSchema, n
	l.Attempt, l.Endpoint = o.Attempt, endpoint
	l.Complete, l.Interrupted, l.Error = false, true, lost.Error()
	l.EndNS = now.UnixNano()
	if l.StartNS == 0 {
		l.StartNS = l.EndNS
	}
	if l.Version == "" {
		l.Version = step.Version
	}
	return durable.WriteJSON(path, l)
}

// complete says whether the result of a load is here and whole.
func complete(runDir string, o *Options) bool {
	var l report.LoadGen
	path := filepath.Join(report.MeasurementDir(runDir, o.measurement()), contract.FileLoadGen)
	return step.ReadJSON(path, &l) == nil && l.Complete && !l.Interrupted
}

// record tells of a loss to those who see no log.
func record(runDir string, o *Options, lost *lostError) error {
	return step.AppendEvent(runDir, step.Event{Source: o.pipelineTask(), Event: "lost", Message: oneLine(lost.why)})
}

// ended returns how a container ended, nil while it has not, or where nobody knows.
func ended(pod *corev1.Pod, container string) *corev1.ContainerStateTerminated {
	if s := statusOf(pod, container); s != nil && !forgotten(s.State.Terminated) {
		return s.State.Terminated
	}
	return nil
}

// forgotten says whether a node does not know how a container ended: the kubelet has lost it (ContainerStatusUnknown),
// or the container runtime has while the node was down (Unknown, with exit code 255).
func forgotten(end *corev1.ContainerStateTerminated) bool {
	return end != nil && (end.Reason == "ContainerStatusUnknown" || end.Reason == "Unknown")
}

// begun says whether a container has begun, and has perhaps ended.
func begun(pod *corev1.Pod, container string) bool {
	s := statusOf(pod, container)
	return s != nil && (s.State.Running != nil || s.State.Terminated != nil)
}

func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	if pod == nil {
		return nil
	}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if list[i].Name == container {
				return &list[i]
			}
		}
	}
	return nil
}

// death says why a pod will not go on, nil while it may: its node has ended or forgotten it, or somebody deletes it.
func death(s cluster.JobState, task string) *lostError {
	pod := s.Pod
	switch status := statusOf(pod, task); {
	case pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "":
		why := fmt.Sprintf("its pod was ended (%s): %s", pod.Status.Reason, oneLine(pod.Status.Message))
		return &lostError{why: why, taken: !overfull(pod.Status.Message)}
	case status != nil && forgotten(status.State.Terminated):
		return &lostError{why: "its node lost its container", taken: true}
	case pod.DeletionTimestamp != nil && s.Failure() != "":
		return &lostError{why: s.Failure(), taken: !s.OutOfTime()}
	case pod.DeletionTimestamp != nil:
		return &lostError{why: "its pod was deleted", taken: true}
	default:
		return nil
	}
}

// overfull tells a pod that wrote more than it may from one whose node was short of something; the words are those of
// the eviction manager of the kubelet, whose reason is the same for both.
func overfull(message string) bool {
	return strings.Contains(message, "exceeds the limit") || strings.Contains(message, "exceeds the total limit") ||
		strings.Contains(message, "exceeded its local ephemeral storage limit")
}
