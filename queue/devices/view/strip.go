package view

import (
	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// stripNode keeps of a node what devices.Of reads. Times of conditions go too: a heartbeat is no change.
func stripNode(obj any) (any, error) {
	n, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil // the last known state of a node that is gone
	}
	out := &corev1.Node{
		ObjectMeta: bare(n.ObjectMeta),
		Spec:       corev1.NodeSpec{Unschedulable: n.Spec.Unschedulable},
		Status: corev1.NodeStatus{Capacity: onlyDevices(n.Status.Capacity),
			Allocatable: onlyDevices(n.Status.Allocatable)},
	}
	out.Labels = n.Labels
	for _, t := range n.Spec.Taints {
		out.Spec.Taints = append(out.Spec.Taints, corev1.Taint{Key: t.Key, Effect: t.Effect})
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			out.Status.Conditions = []corev1.NodeCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return out, nil
}

// stripPod keeps of a pod its devices, its node and whose it is: nearly nothing for the many that ask for no device.
func stripPod(obj any) (any, error) {
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	out := &corev1.Pod{ObjectMeta: bare(p.ObjectMeta)}
	if run := p.Labels[contract.LabelRun]; run != "" {
		out.Labels = map[string]string{
			contract.LabelRun: run, contract.LabelHub: p.Labels[contract.LabelHub],
			contract.LabelRelease: p.Labels[contract.LabelRelease],
		}
	}
	if len(devices.OfPod(p)) == 0 {
		return out, nil
	}
	out.Spec.NodeName = p.Spec.NodeName
	out.Status = corev1.PodStatus{Phase: p.Status.Phase, NominatedNodeName: p.Status.NominatedNodeName}
	out.Spec.Containers, out.Spec.InitContainers = stripContainers(p.Spec.Containers),
		stripContainers(p.Spec.InitContainers)
	return out, nil
}

func stripContainers(in []corev1.Container) []corev1.Container {
	var out []corev1.Container
	for i := range in {
		out = append(out, corev1.Container{RestartPolicy: in[i].RestartPolicy, Resources: corev1.ResourceRequirements{
			Limits: onlyDevices(in[i].Resources.Limits), Requests: onlyDevices(in[i].Resources.Requests),
		}})
	}
	return out
}

func onlyDevices(list corev1.ResourceList) corev1.ResourceList {
	var out corev1.ResourceList
	for name, q := range list {
		if devices.IsDevice(string(name)) {
			if out == nil {
				out = corev1.ResourceList{}
			}
			out[name] = q
		}
	}
	return out
}

func bare(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion}
}

// counts says whether an object that came or went is one that is counted.
func counts(obj any) bool {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	pod, isPod := obj.(*corev1.Pod)
	return !isPod || len(pod.Spec.Containers) > 0
}
