package devices

import corev1 "k8s.io/api/core/v1"

// OfPod returns the devices that a pod takes from its node: what its containers ask for together, or one of its init
// containers beside the sidecars that started before it, whichever is more.
func OfPod(pod *corev1.Pod) Amounts {
	running := Amounts{}
	for i := range pod.Spec.Containers {
		running.add(ofContainer(&pod.Spec.Containers[i]))
	}
	sidecars, peak := Amounts{}, Amounts{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		asks := ofContainer(c)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars.add(asks)
			continue
		}
		asks.add(sidecars)
		peak.raise(asks)
	}
	running.add(sidecars)
	running.raise(peak)
	return running
}

// raise lifts a to at least b.
func (a Amounts) raise(b Amounts) {
	for name, n := range b {
		a[name] = max(a[name], n)
	}
}

// ofContainer reads limits where requests are not written: for extended resources they are the same, and the API
// server fills requests in from limits.
func ofContainer(c *corev1.Container) Amounts {
	out := ofList(c.Resources.Limits)
	out.raise(ofList(c.Resources.Requests))
	return out
}

// NodeOf returns the node that a pod holds devices of, or "" for a pod that holds none: one that has ended, or that
// the scheduler has not yet given a node, not even one that is being cleared for it.
func NodeOf(pod *corev1.Pod) string {
	switch {
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return ""
	case pod.Spec.NodeName != "":
		return pod.Spec.NodeName
	default:
		return pod.Status.NominatedNodeName
	}
}
