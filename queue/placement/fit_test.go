package placement

import (
	"strings"
	"testing"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/queuetest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const gpu = queuetest.GPU

// silent is a node whose device plugin starts anew.
func silent(n *corev1.Node) { n.Status.Allocatable[gpu] = resource.Quantity{} }

func foreign(string, map[string]string) devices.Holder { return devices.Holder{} }

func one(n int64) []devices.Shape {
	return []devices.Shape{{Count: 1, Requests: devices.Amounts{gpu: n}}}
}

func TestWhatATargetLacks(t *testing.T) {
	two := []corev1.Node{queuetest.MakeNode("a", 8), queuetest.MakeNode("b", 8)}
	for _, row := range []struct {
		name  string
		nodes []corev1.Node
		pods  []corev1.Pod
		wants Wants
		ever  bool
		want  string
	}{
		{"nothing", two, nil, Wants{All: devices.Amounts{gpu: 16},
			Pods: []devices.Shape{{Count: 2, Requests: devices.Amounts{gpu: 8}}}}, false, ""},
		{"nothing for a run without devices", nil, nil, Wants{All: devices.Amounts{"bflow.dev/cluster-slot": 100}}, false,
			""},
		{"more than all nodes have", two, nil, Wants{All: devices.Amounts{gpu: 17}}, true,
			`asks for 17 nvidia.com/gpu, and target "lab" has 16 in all`},
		{"what nobody has", two, nil, Wants{All: devices.Amounts{"amd.com/gpu": 1}}, true,
			`asks for 1 amd.com/gpu, and target "lab" has none in all`},
		{"more slots than there are", two, nil, Wants{All: devices.Amounts{"bflow.dev/cluster-slot": 101}}, true,
			`asks for 101 bflow.dev/cluster-slot, and target "lab" has 100 in all`},
		{"a node that is large enough", two, nil, Wants{All: devices.Amounts{gpu: 12}, Pods: one(12)}, true,
			`asks for a pod with 12 nvidia.com/gpu, which the nodes of target "lab" cannot hold even when they are empty: ` +
				`a node has at most 8 nvidia.com/gpu`},
		{"a node in maintenance comes back", []corev1.Node{queuetest.MakeNode("a", 8),
			queuetest.MakeNode("b", 8, queuetest.Cordoned)}, nil, Wants{All: devices.Amounts{gpu: 16}}, false,
			`asks for 16 nvidia.com/gpu, and target "lab" has 8 now (no pods on b (cordoned))`},
		{"a lost node that is too small for it is no reason",
			[]corev1.Node{queuetest.MakeNode("a", 8), queuetest.MakeNode("b", 4, queuetest.Cordoned)},
			[]corev1.Pod{queuetest.MakePod("a", 4, nil)},
			Wants{All: devices.Amounts{gpu: 8}, Pods: one(8)}, false,
			`asks for 8 nvidia.com/gpu, and target "lab" has 4 now (others hold 4)`},
		{"others give back what they hold", two, []corev1.Pod{queuetest.MakePod("a", 4, nil)},
			Wants{All: devices.Amounts{gpu: 16}}, false,
			`asks for 16 nvidia.com/gpu, and target "lab" has 12 now (others hold 4)`},
		{"others on every node leave room in all and on none", two,
			[]corev1.Pod{queuetest.MakePod("a", 1, nil), queuetest.MakePod("b", 1, nil)},
			Wants{All: devices.Amounts{gpu: 8}, Pods: one(8)}, false,
			`asks for a pod with 8 nvidia.com/gpu, which the nodes of target "lab" cannot hold now (others hold 2)`},
		{"a device plugin comes back", []corev1.Node{queuetest.MakeNode("a", 8, silent)}, nil,
			Wants{All: devices.Amounts{gpu: 8}, Pods: one(8)}, false,
			`asks for 8 nvidia.com/gpu, and target "lab" has none now`},
	} {
		t.Run(row.name, func(t *testing.T) {
			inv := devices.Of(row.nodes, nil)
			inv.Hold(row.pods, nil, foreign)
			promised := inv.Quota()
			promised["bflow.dev/cluster-slot"] = 100
			got := Judge("lab", row.wants, promised, inv)
			if got.Ever != row.ever || got.Why != row.want {
				t.Errorf("got %+v\nwant %v %s", got, row.ever, row.want)
			}
			if strings.HasSuffix(got.Why, ".") {
				t.Error("the sentence goes on")
			}
		})
	}
}
