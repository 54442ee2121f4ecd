package away

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/provision/cluster"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/step"

	corev1 "k8s.io/api/core/v1"
)

// lostError says that the pod of a task ended before its results were here.
type lostError struct{ why string }

func (e *lostError) Error() string { return e.why }

// markLost writes into the result of a load that it is a part, in the words of load-gen: what was followed until then
// stays, and whoever reads the result sees that it is not whole, and why.
func markLost(runDir string, o *Options, endpoint string, lost *lostError, now time.Time) error {
	n := o.measurement()
	path := filepath.Join(report.MeasurementDir(runDir, n), contract.FileLoadGen)
	var l report.LoadGen
	_ = step.ReadJSON(path, &l) // one that is missing, or damaged, is made
	l.Schema, l.Measurement, l.Attempt, l.Endpoint = report.LoadGenSchema, n, o.Attempt, endpoint
	l.Complete, l.Interrupted, l.Error = false, true, lost.Error()
	l.EndNS = now.UnixNano()
	if l.StartNS == 0 {
		l.StartNS = l.EndNS
	}
	if l.Version == "" {
		l.Version = step.Version
	}
	return step.WriteJSON(path, l)
}

// complete says whether the result of a load is here and whole.
func complete(runDir string, o *Options) bool {
	var l report.LoadGen
	path := filepath.Join(report.MeasurementDir(runDir, o.measurement()), contract.FileLoadGen)
	return step.ReadJSON(path, &l) == nil && l.Complete && !l.Interrupted
}

// record tells of a loss to those who see no log.
func record(runDir string, o *Options, lost *lostError) error {
	text := strings.Join(strings.Fields(lost.Error()), " ")
	failed := step.AppendEvent(runDir, step.Event{Source: o.pipelineTask(), Event: "lost", Message: text})
	if o.ReasonResult == "" {
		return failed
	}
	return errors.Join(failed, step.WriteFile(o.ReasonResult, []byte(strings.ToValidUTF8(text[:min(len(text), 1000)], ""))))
}

// ended returns how a container ended, nil while it has not, or where nobody knows.
func ended(pod *corev1.Pod, container string) *corev1.ContainerStateTerminated {
	if s := statusOf(pod, container); s != nil && s.State.Terminated != nil && s.State.Terminated.Reason != unknown {
		return s.State.Terminated
	}
	return nil
}

// unknown is the reason that the API gives where a node has forgotten a container.
const unknown = "ContainerStatusUnknown"

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

// death says why a pod will not go on, "" while it may: its node has ended or forgotten it, or somebody deletes it.
func death(s cluster.JobState, task string) string {
	pod := s.Pod
	switch status := statusOf(pod, task); {
	case pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "":
		return fmt.Sprintf("its pod was ended (%s): %s", pod.Status.Reason, strings.Join(strings.Fields(pod.Status.Message), " "))
	case status != nil && status.State.Terminated != nil && status.State.Terminated.Reason == unknown:
		return "its node has lost its container"
	case pod.DeletionTimestamp != nil && s.Failure() != "":
		return s.Failure()
	case pod.DeletionTimestamp != nil:
		return "its pod was deleted"
	default:
		return ""
	}
}
