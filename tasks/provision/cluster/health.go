package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Limits of what a start may go through.
const (
	maxTries     = 3           // crashes, failed pulls, lost pods
	maxUnsettled = time.Minute // what time may mend: a volume or a configuration that is late
	// maxUnplaced is for a pod that some node could hold: others have taken what the queue had counted as free, such as a
	// run of another hub on the same target, and their end gives it back.
	maxUnplaced = 5 * time.Minute
	// maxUnanswered is for a webhook or an API server that is away: as long as the queue bears a target that is.
	// Kubernetes tries again after 5 ms, 10 ms, 20 ms ..., so that a minute would miss what has come back in its second
	// half.
	maxUnanswered = 2 * time.Minute
)

// symptom is something wrong with a pod that is to become ready.
type symptom struct {
	id     string // the same symptom of the same container has the same
	reason string // one word: CrashLoopBackOff, Unschedulable, ...
	text   string // one sentence with the object in it
	now    bool   // time cannot mend it
	tries  int    // how often it has happened, where that decides; else it may last for its patience
	fresh  bool   // a pull failed just now: whoever watches counts these

	most time.Duration // how long it may last; 0 = maxUnsettled

	pod, container string // whose log may tell why, of a crash
}

func (s *symptom) patience() time.Duration { return cmp.Or(s.most, maxUnsettled) }

// unanswered says whether a pod could not be made because somebody who is asked did not answer, or not yet as he will.
// A webhook that was reached and says no is none of these: its message begins with "admission webhook".
func unanswered(message string) bool {
	if strings.Contains(message, "denied the request") || strings.Contains(message, "violates PodSecurity") {
		return false
	}
	message = strings.ToLower(message)
	return slices.ContainsFunc([]string{
		"failed calling webhook", "failed to call webhook", "no endpoints available", "connection refused",
		"connection reset", "no route to host",
		"i/o timeout", "tls handshake timeout", "deadline exceeded", "timed out", "timeout awaiting", "client.timeout",
		"unexpected eof",
		"service unavailable", "currently unable to handle", "too many requests", "the object has been modified",
		"etcdserver:",
		"leader changed", "not yet ready to handle request",
	}, func(part string) bool { return strings.Contains(message, part) })
}

// symptoms returns what is wrong with a pod, read from its status alone.
func symptoms(pod *corev1.Pod) []symptom {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	if pod.Status.Phase == corev1.PodFailed {
		return []symptom{{id: "lost", reason: orElse(pod.Status.Reason, "Failed"), tries: 1,
			text: fmt.Sprintf("pod %s was ended by its node: %s", pod.Name, sentence(pod.Status.Message, pod.Status.Reason))}}
	}
	var out []symptom
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			out = append(out, symptom{id: string(pod.UID) + "/schedule", reason: c.Reason,
				text: fmt.Sprintf("pod %s fits on no node: %s", pod.Name, scheduler(c.Message))})
		}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if s, ok := ofContainer(pod, c); ok {
			s.id = string(pod.UID) + "/" + c.Name + "/" + s.reason
			out = append(out, s)
		}
	}
	return out
}

// ofContainer tells what is wrong with one container.
func ofContainer(pod *corev1.Pod, c corev1.ContainerStatus) (symptom, bool) {
	if w := c.State.Waiting; w != nil {
		if s, ok := waiting(pod, c, w); ok {
			return s, true
		}
	}
	ended := c.State.Terminated
	if ended == nil {
		ended = c.LastTerminationState.Terminated
	}
	if ended == nil || ended.ExitCode == 0 && c.State.Terminated != nil && isInit(pod, c.Name) {
		return symptom{}, false
	}
	return crashed(pod, c, ended), true
}

func waiting(pod *corev1.Pod, c corev1.ContainerStatus, w *corev1.ContainerStateWaiting) (symptom, bool) {
	at := fmt.Sprintf("container %s of pod %s", c.Name, pod.Name)
	switch w.Reason {
	case "InvalidImageName", "ErrImageNeverPull", "ImageInspectError":
		return symptom{reason: w.Reason, now: true, text: fmt.Sprintf("image %q of %s cannot be used: %s", c.Image, at,
			sentence(w.Message, w.Reason))}, true
	case "ErrImagePull", "ImagePullBackOff", "RegistryUnavailable":
		return symptom{reason: "ImagePull", now: finalPull(w.Message), tries: 1, fresh: w.Reason == "ErrImagePull",
			text: fmt.Sprintf("image %q of %s cannot be pulled (%s): %s", c.Image, at, w.Reason, sentence(w.Message))}, true
	case "CreateContainerConfigError", "CreateContainerError":
		return symptom{reason: w.Reason, now: !busy(w.Message),
			text: fmt.Sprintf("%s cannot be created: %s", at, sentence(w.Message, w.Reason))}, true
	case "RunContainerError", "StartError":
		return symptom{reason: w.Reason, now: !busy(w.Message),
			text: fmt.Sprintf("%s cannot be started: %s", at, sentence(w.Message, w.Reason))}, true
	}
	return symptom{}, false // ContainerCreating, PodInitializing, and CrashLoopBackOff, of which the last end tells more
}

// busy says whether a node could not make or start a container because it had no time for it, or was late: it tries
// again. "is reserved for" is containerd's word for a container whose first attempt goes on.
func busy(message string) bool {
	return unanswered(message) || strings.Contains(message, "failed to sync") ||
		strings.Contains(message, "is reserved for")
}

// finalPull says whether a registry's answer will be the same the next time.
func finalPull(message string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc([]string{"not found", "manifest unknown", "name unknown", "unauthorized",
		"authentication required",
		"authorization failed", "access denied", "denied:", "403 forbidden", "no match for platform", "invalid reference",
		"unsupported"},
		func(part string) bool { return strings.Contains(message, part) })
}

// crashed is the symptom of a container that has ended at least once. Usage errors, programs that cannot be run, and
// too little memory stay as they are, however often they are tried.
func crashed(pod *corev1.Pod, c corev1.ContainerStatus, end *corev1.ContainerStateTerminated) symptom {
	s := symptom{reason: "CrashLoopBackOff", tries: int(c.RestartCount), pod: pod.Name, container: c.Name}
	if c.State.Terminated != nil {
		s.tries++
	}
	how := fmt.Sprintf("exit code %d", end.ExitCode)
	switch {
	case end.Reason == "OOMKilled":
		s.reason, s.now, how = end.Reason, true, "more memory than its limit (OOMKilled)"
	case end.Reason == "StartError" || end.Reason == "ContainerCannotRun":
		s.reason, s.now, how = end.Reason, !busy(end.Message), sentence(end.Message, end.Reason)
	case end.ExitCode == 2 || end.ExitCode == 126 || end.ExitCode == 127:
		s.now = true
	}
	s.text = fmt.Sprintf("container %s of pod %s ended with %s", c.Name, pod.Name, how)
	if s.tries > 1 {
		s.text += fmt.Sprintf(", %d times", s.tries)
	}
	return s
}

// scheduler is what the scheduler misses, without what it could not do about it: that is its first sentence.
func scheduler(message string) string {
	first, _, _ := strings.Cut(sentence(message), ". ")
	return strings.TrimSuffix(first, ".")
}

func isInit(pod *corev1.Pod, container string) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == container })
}

// sentence is the first of texts that says something, on one line, its first 400 bytes.
func sentence(texts ...string) string {
	for _, text := range texts {
		if line := strings.Join(strings.Fields(text), " "); line != "" {
			return strings.ToValidUTF8(line[:min(len(line), 400)], "")
		}
	}
	return "no reason given"
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
