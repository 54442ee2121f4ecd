package devices_test

import (
	"bflow.dev/bflow/queue/devices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const gpu = "nvidia.com/gpu"

type nodeOption func(*corev1.Node)

func makeNode(name string, options ...nodeOption) corev1.Node {
	n := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Status: corev1.NodeStatus{
			Capacity:    corev1.ResourceList{"cpu": resource.MustParse("8")},
			Allocatable: corev1.ResourceList{"cpu": resource.MustParse("7900m")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, o := range options {
		o(&n)
	}
	return n
}

func offers(name string, count int64) nodeOption {
	return func(n *corev1.Node) {
		n.Status.Capacity[corev1.ResourceName(name)] = *resource.NewQuantity(count, resource.DecimalSI)
		n.Status.Allocatable[corev1.ResourceName(name)] = *resource.NewQuantity(count, resource.DecimalSI)
	}
}

func ill(name string, count int64) nodeOption {
	return func(n *corev1.Node) {
		q := n.Status.Allocatable[corev1.ResourceName(name)]
		q.Sub(*resource.NewQuantity(count, resource.DecimalSI))
		n.Status.Allocatable[corev1.ResourceName(name)] = q
	}
}

func label(key, value string) nodeOption {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func notReady(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }

func taint(key string, effect corev1.TaintEffect) nodeOption {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect}) }
}

type podOption func(*corev1.Pod)

func makePod(node, name string, count int64, options ...podOption) corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Resources: asks(name, count)}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, o := range options {
		o(&p)
	}
	return p
}

func asks(name string, count int64) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Limits: corev1.ResourceList{
		corev1.ResourceName(name): *resource.NewQuantity(count, resource.DecimalSI)}}
}

func mine(p *corev1.Pod) { p.Labels["run"] = "x" }

func ours(namespace string, labels map[string]string) devices.Holder {
	if labels["run"] == "" {
		return devices.Holder{}
	}
	return devices.Holder{Run: types.NamespacedName{Namespace: namespace, Name: labels["run"]}}
}

func phase(ph corev1.PodPhase) podOption { return func(p *corev1.Pod) { p.Status.Phase = ph } }

func slice(node, driver string, generation, of int64, ds ...resourcev1.Device) resourcev1.ResourceSlice {
	return resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: generation,
			ResourceSliceCount: of}, Devices: ds,
	}}
}

func device(name string, attributes ...string) resourcev1.Device {
	d := resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}}
	for i := 0; i+1 < len(attributes); i += 2 {
		v := attributes[i+1]
		d.Attributes[resourcev1.QualifiedName(attributes[i])] = resourcev1.DeviceAttribute{StringValue: &v}
	}
	return d
}

func claim(driver, pool, dev string, reservedFor types.UID) resourcev1.ResourceClaim {
	c := resourcev1.ResourceClaim{Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{
		Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
			{Driver: driver, Pool: pool, Device: dev}}},
	}}}
	if reservedFor != "" {
		c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", UID: reservedFor}}
	}
	return c
}

func amounts(pairs ...any) devices.Amounts {
	out := devices.Amounts{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i].(string)] = int64(pairs[i+1].(int))
	}
	return out
}
