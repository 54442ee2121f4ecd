package detect

import (
	"maps"
	"slices"
	"strings"

	"bflow.dev/bflow/queue/devices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// labelLoad marks nodes for task pods. Administrators set it, and it wins over everything that is guessed.
const labelLoad = "bflow.dev/load"

// pair is one label.
type pair struct{ key, value string }

// loadNodes returns a label that nodes without devices have and nodes with devices do not, so that load and engine do
// not share a node. It returns nil if all nodes have devices, or if no label makes the difference: a node selector can
// only ask for labels that exist.
func loadNodes(nodes []corev1.Node, inventory *devices.Inventory) map[string]string {
	withDevices := map[string]bool{}
	for _, n := range inventory.Nodes {
		withDevices[n.Name] = true
	}
	count, taken := map[pair]int{}, map[pair]bool{}
	eligible := 0
	for i := range nodes {
		plain := !withDevices[nodes[i].Name]
		if plain && !takesPods(&nodes[i]) {
			continue
		}
		if plain {
			eligible++
		}
		for key, value := range nodes[i].Labels {
			if plain {
				count[pair{key, value}]++
			} else {
				taken[pair{key, value}] = true
			}
		}
	}
	if len(withDevices) == 0 || eligible == 0 {
		return nil
	}
	return best(count, taken, eligible)
}

// best chooses the label of the most nodes, and among equals the most meaningful one.
func best(count map[pair]int, taken map[pair]bool, eligible int) map[string]string {
	var candidates []pair
	for p := range maps.Keys(count) {
		if !taken[p] && (worth(p) < worthNothing || eligible == 1) {
			candidates = append(candidates, p)
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	chosen := slices.MinFunc(candidates, func(a, b pair) int {
		if a.key == labelLoad || b.key == labelLoad {
			return worth(a) - worth(b)
		}
		if d := count[b] - count[a]; d != 0 {
			return d
		}
		if d := worth(a) - worth(b); d != 0 {
			return d
		}
		return strings.Compare(a.key+"="+a.value, b.key+"="+b.value)
	})
	return map[string]string{chosen.key: chosen.value}
}

// worthNothing is for labels that name a single node.
const worthNothing = 9

// worth orders labels by how well they say what a node is for: made for us, a role, a pool, a kind of machine, any
// other.
func worth(p pair) int {
	switch {
	case p.key == labelLoad:
		return 0
	case strings.HasPrefix(p.key, "node-role.kubernetes.io/"):
		return 1
	case strings.Contains(p.key, "nodepool") || strings.Contains(p.key, "nodegroup") ||
		strings.Contains(p.key, "agentpool"):
		return 2
	case p.key == "node.kubernetes.io/instance-type":
		return 3
	case p.key == corev1.LabelHostname:
		return worthNothing
	case strings.HasPrefix(p.key, "topology.kubernetes.io/"),
		strings.HasPrefix(p.key, "failure-domain.beta.kubernetes.io/"):
		return 6
	default:
		return 5
	}
}

// A load generator requests a core, for which a small node has no room beside everything else that runs there. If no
// node has smallNode cores, it requests an eighth of the largest, rounded down to loadStep. It may use more.
const smallNode, loadShare, loadStep = 8000, 8, 50

// loadCPU returns the cores that a load generator requests if all nodes are small, else "".
func loadCPU(nodes []corev1.Node) string {
	var most int64
	for i := range nodes {
		most = max(most, nodes[i].Status.Allocatable.Cpu().MilliValue())
	}
	if most == 0 || most >= smallNode {
		return ""
	}
	return resource.NewMilliQuantity(max(most/loadShare/loadStep, 1)*loadStep, resource.DecimalSI).String()
}

// takesPods reports whether the scheduler may put a pod without tolerations on the node.
func takesPods(n *corev1.Node) bool {
	for _, t := range n.Spec.Taints {
		if t.Effect != corev1.TaintEffectPreferNoSchedule {
			return false
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return false
		}
	}
	return !n.Spec.Unschedulable
}
