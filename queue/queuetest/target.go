package queuetest

import (
	"context"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/devices/view"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// GPU is the device of these tests.
const GPU = "nvidia.com/gpu"

// Sight is a target whose nodes and pods the test says. It is a target.Sight.
type Sight struct {
	Nodes      []corev1.Node
	Pods       []corev1.Pod
	Answers    view.Reach
	Unready    bool   // not everything was read yet
	Kubernetes string // its version
}

// Ready says whether everything was read.
func (s *Sight) Ready() bool { return !s.Unready }

// Reach says whether its API server answers.
func (s *Sight) Reach() view.Reach { return s.Answers }

// Version is that of its Kubernetes.
func (s *Sight) Version() string { return s.Kubernetes }

// Inventory counts its devices.
func (s *Sight) Inventory(_ context.Context, owner devices.Owner) (*devices.Inventory, error) {
	inv := devices.Of(s.Nodes, nil)
	inv.Hold(s.Pods, nil, owner)
	return inv, nil
}

// MakeNode is a node that is ready, with GPUs.
func MakeNode(name string, gpus int64, edits ...func(*corev1.Node)) corev1.Node {
	have := corev1.ResourceList{GPU: *resource.NewQuantity(gpus, resource.DecimalSI)}
	n := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Status: corev1.NodeStatus{Capacity: have, Allocatable: have.DeepCopy(),
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	for _, edit := range edits {
		edit(&n)
	}
	return n
}

// H100 is a node whose GPUs are of that product.
func H100(n *corev1.Node) { n.Labels[GPU+".product"] = "NVIDIA-H100" }

// Cordoned is a node that takes no pods.
func Cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

// MakePod is a pod of Namespace on a node that holds GPUs.
func MakePod(node string, gpus int64, labels map[string]string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Labels: labels},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
				GPU: *resource.NewQuantity(gpus, resource.DecimalSI)}},
		}}},
	}
}

// MakeQueue is the LocalQueue of a name in Namespace, for the ClusterQueue of a target.
func MakeQueue(name, target string) *kueue.LocalQueue {
	return &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace},
		Spec: kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(target)}}
}
