package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSomeNodeCouldHoldThePod(t *testing.T) {
	node := func(name string, gpus string, edit func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": "gpu"}}}
		n.Status.Allocatable = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}
		edit(n)
		return n
	}
	same := func(*corev1.Node) {}
	for _, row := range []struct {
		name  string
		gpus  string
		nodes []*corev1.Node
		edit  func(*corev1.Pod)
		want  string // why not
	}{
		{"a node is large enough, however full", "4", []*corev1.Node{node("a", "2", same), node("b", "4", same)}, nil, ""},
		{"two small nodes make no large one", "4", []*corev1.Node{node("a", "2", same), node("b", "2", same)}, nil,
			"it requests 4 nvidia.com/gpu, but node b has 2"},
		{"a node without the device has none of it", "1", []*corev1.Node{node("a", "0", same)}, nil,
			"it requests 1 nvidia.com/gpu, but node a has 0"},
		{"no node has the label", "1", []*corev1.Node{node("a", "8", same)},
			func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"pool": "h200"} },
			"node a has no label pool=h200"},
		{"a taint that is not tolerated", "1", []*corev1.Node{node("a", "8", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "team", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
		})}, nil,
			"node a has taint team=x:NoSchedule, which is not tolerated"},
		{"a taint that is tolerated", "1", []*corev1.Node{node("a", "8", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "team", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
		})},
			func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
			}, ""},
		{"a cordoned node may come back", "1", []*corev1.Node{node("a", "8", func(n *corev1.Node) {
			n.Spec.Unschedulable = true
			n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
		})}, nil, ""},
		{"nobody knows the nodes", "64", nil, nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(row.gpus)}}}}}}
			if row.edit != nil {
				row.edit(pod)
			}
			if ok, why := fits(pod, row.nodes); ok != (row.want == "") || why != row.want {
				t.Errorf("got %v, %q, want %q", ok, why, row.want)
			}
		})
	}
}
