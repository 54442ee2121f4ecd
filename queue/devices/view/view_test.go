package view

import (
	"maps"
	"testing"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
)

func fullNode(edit func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1",
			Labels: map[string]string{"nvidia.com/gpu.product": "NVIDIA-H100"}, Annotations: map[string]string{"x": "y"}},
		Spec: corev1.NodeSpec{PodCIDR: "10.0.0.0/24",
			Taints: []corev1.Taint{{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			Capacity:    corev1.ResourceList{"cpu": resource.MustParse("8"), "nvidia.com/gpu": resource.MustParse("8")},
			Allocatable: corev1.ResourceList{"cpu": resource.MustParse("8"), "nvidia.com/gpu": resource.MustParse("8")},
			Images:      []corev1.ContainerImage{{Names: []string{"large"}}},
			Conditions: []corev1.NodeCondition{{Type: "DiskPressure", Status: "False"}, {
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(),
			}},
		},
	}
	if edit != nil {
		edit(n)
	}
	return n
}

func fullPod(edit func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", UID: "u",
			Labels: map[string]string{"bflow.dev/run": "r", "bflow.dev/hub": "h", "app": "x"}},
		Spec: corev1.PodSpec{NodeName: "a", Containers: []corev1.Container{{
			Name: "c", Image: "i", Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{"cpu": resource.MustParse("1"), "nvidia.com/gpu": resource.MustParse("2")}},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.7"},
	}
	if edit != nil {
		edit(p)
	}
	return p
}

func strip(t *testing.T, obj any) any {
	t.Helper()
	f := stripNode
	if _, ok := obj.(*corev1.Pod); ok {
		f = stripPod
	}
	out, err := f(obj)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWhatIsKeptTellsWhoseAPodIs: by these labels package capacity knows what a run holds and what it has left behind.
func TestWhatIsKeptTellsWhoseAPodIs(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Labels: map[string]string{
		contract.LabelRun: "r", contract.LabelHub: "h", contract.LabelRelease: "p-1", "app": "x"}}}
	kept := strip(t, pod).(*corev1.Pod)
	want := map[string]string{contract.LabelRun: "r", contract.LabelHub: "h", contract.LabelRelease: "p-1"}
	if !maps.Equal(kept.Labels, want) || kept.Namespace != "bench" {
		t.Errorf("kept are namespace %q and %v", kept.Namespace, kept.Labels)
	}
}

// TestWhatIsKeptCountsTheSame: an inventory of what is kept is that of the whole objects.
func TestWhatIsKeptCountsTheSame(t *testing.T) {
	count := func(n *corev1.Node, p *corev1.Pod) string {
		inv := devices.Of([]corev1.Node{*n}, nil)
		inv.Hold([]corev1.Pod{*p}, nil, func(namespace string, l map[string]string) devices.Holder {
			return devices.Holder{Run: types.NamespacedName{Namespace: namespace, Name: l["bflow.dev/run"]}}
		})
		return inv.Total().String() + "; " + inv.Ours().String() + "; " + inv.Quota().String()
	}
	node, pod := fullNode(nil), fullPod(nil)
	whole, kept := count(node, pod), count(strip(t, node).(*corev1.Node), strip(t, pod).(*corev1.Pod))
	if whole != kept {
		t.Errorf("got %s, want %s", kept, whole)
	}
	if p := strip(t, pod).(*corev1.Pod); len(p.Labels) != 3 || p.Spec.Containers[0].Image != "" || p.Status.PodIP != "" {
		t.Errorf("too much is kept: %+v", p)
	}
	plain := fullPod(func(p *corev1.Pod) { delete(p.Spec.Containers[0].Resources.Limits, "nvidia.com/gpu") })
	if p := strip(t, plain).(*corev1.Pod); len(p.Spec.Containers) != 0 || counts(p) {
		t.Errorf("a pod without devices is kept whole, or told: %+v", p)
	}
}

func TestWhatIsTold(t *testing.T) {
	for _, row := range []struct {
		name          string
		before, after any
		want          bool
	}{
		{"a heartbeat", fullNode(nil), fullNode(func(n *corev1.Node) { n.ResourceVersion = "2"; n.Annotations["x"] = "z" }),
			false},
		{"a node that is lost", fullNode(nil),
			fullNode(func(n *corev1.Node) { n.Status.Conditions[1].Status = corev1.ConditionUnknown }), true},
		{"a device that fell ill", fullNode(nil), fullNode(
			func(n *corev1.Node) { n.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("7") }), true},
		{"a product that is now known", fullNode(func(n *corev1.Node) { n.Labels = nil }), fullNode(nil), true},
		{"a cordon", fullNode(nil), fullNode(func(n *corev1.Node) { n.Spec.Unschedulable = true }), true},
		{"a pod that gets an address", fullPod(func(p *corev1.Pod) { p.Status.PodIP = "" }), fullPod(nil), false},
		{"a pod that gets a node", fullPod(func(p *corev1.Pod) { p.Spec.NodeName = "" }), fullPod(nil), true},
		{"a pod that ends", fullPod(nil), fullPod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), true},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := changed(strip(t, row.before), strip(t, row.after)); got != row.want {
				t.Errorf("got %v", got)
			}
		})
	}
	if !counts(toolscache.DeletedFinalStateUnknown{Obj: strip(t, fullPod(nil))}) {
		t.Error("a pod that went while nobody looked is told")
	}
}
