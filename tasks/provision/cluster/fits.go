package cluster

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// fits says whether some node could hold the pod if nothing else ran there, else why the nearest could not. It looks at
// what does not change by itself: the size of nodes, their labels and taints. Without nodes it says yes: nobody knows.
func fits(pod *corev1.Pod, nodes []*corev1.Node) (bool, string) {
	if len(nodes) == 0 {
		return true, ""
	}
	need := requestsOf(pod)
	nearest := ""
	for _, n := range nodes {
		why, hard := obstacle(pod, need, n)
		if why == "" {
			return true, ""
		}
		if nearest == "" || !hard {
			nearest = why
		}
	}
	return false, nearest
}

// obstacle is why the node cannot hold the pod; hard says that it is not even meant for it.
func obstacle(pod *corev1.Pod, need corev1.ResourceList, n *corev1.Node) (why string, hard bool) {
	for key, want := range pod.Spec.NodeSelector {
		if n.Labels[key] != want {
			return fmt.Sprintf("node %s has no label %s=%s", n.Name, key, want), true
		}
	}
	for i := range n.Spec.Taints {
		if t := &n.Spec.Taints[i]; lasting(t) && !tolerated(pod, t) {
			return fmt.Sprintf("node %s has taint %s, which is not tolerated", n.Name, t.ToString()), true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(need)) {
		want, have := need[name], n.Status.Allocatable[name]
		if want.Cmp(have) > 0 {
			return fmt.Sprintf("it requests %s %s, but node %s has %s", want.String(), name, n.Name, have.String()), false
		}
	}
	return "", false
}

// lasting tells a taint that somebody chose from one that the state of a node brings and takes.
func lasting(t *corev1.Taint) bool {
	return t.Effect != corev1.TaintEffectPreferNoSchedule &&
		!slices.Contains([]string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable,
			corev1.TaintNodeUnschedulable, corev1.TaintNodeMemoryPressure, corev1.TaintNodeDiskPressure,
			corev1.TaintNodePIDPressure,
			corev1.TaintNodeNetworkUnavailable}, t.Key)
}

func tolerated(pod *corev1.Pod, t *corev1.Taint) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(tol corev1.Toleration) bool {
		return (tol.Effect == "" || tol.Effect == t.Effect) && (tol.Key == "" || tol.Key == t.Key) &&
			(tol.Operator == corev1.TolerationOpExists || tol.Value == t.Value)
	})
}

// requestsOf is what the containers of a pod ask for together, and each init container at least.
func requestsOf(pod *corev1.Pod) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for i := range pod.Spec.Containers {
		for name, q := range pod.Spec.Containers[i].Resources.Requests {
			total := sum[name]
			total.Add(q)
			sum[name] = total
		}
	}
	for i := range pod.Spec.InitContainers {
		for name, q := range pod.Spec.InitContainers[i].Resources.Requests {
			if have := sum[name]; have.Cmp(q) < 0 {
				sum[name] = q
			}
		}
	}
	maps.DeleteFunc(sum, func(_ corev1.ResourceName, q resource.Quantity) bool { return q.IsZero() })
	return sum
}
