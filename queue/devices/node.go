package devices

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Node is what one node has of devices, and who holds them. Free of a resource is what Total leaves after Ours and
// Foreign; where a device fell ill while it was held, Ours and Foreign together are more than Total, and Free is 0.
type Node struct {
	Name    string
	Lost    string // why no new pod can come here: "cordoned", "not ready", a taint; "" where one can
	Total   Amounts
	Ours    Amounts // held by pods of runs that hold quota
	Foreign Amounts // held by everybody else

	full    Amounts           // what a device plugin would offer if none of its devices were ill
	product map[string]string // of devices counted by the node: resource -> the product's resource
	dynamic map[string]Amounts
}

func newNode(name, lost string) *Node {
	return &Node{
		Name: name, Lost: lost, Total: Amounts{}, Ours: Amounts{}, Foreign: Amounts{},
		full: Amounts{}, product: map[string]string{}, dynamic: map[string]Amounts{},
	}
}

// nodeOf reads what a device plugin told the node.
func nodeOf(n *corev1.Node) *Node {
	node := newNode(n.Name, lost(n))
	for name, count := range ofList(n.Status.Allocatable) {
		if product := Product(productOf(n, name)); product != "" {
			node.product[name] = product
		}
		node.Total.add(node.withProducts(Amounts{name: count}))
	}
	for name := range n.Status.Capacity { // all ill: none is allocatable, and yet the resource is known here
		if IsDevice(string(name)) && node.Total[string(name)] == 0 {
			node.Total[string(name)] = 0
		}
	}
	for name, count := range ofList(n.Status.Capacity) {
		node.full[name] += count
		if product := Product(productOf(n, name)); product != "" {
			node.full[product] += count
		}
	}
	return node
}

// Full is what the node has on its best day: nobody holds anything, it is there, and no device is ill. A device plugin
// that starts anew offers nothing for a while.
func (n *Node) Full() Amounts {
	out := Amounts{}
	for _, of := range []Amounts{n.Total, n.full} {
		for name, count := range of {
			out[name] = max(out[name], count)
		}
	}
	return out
}

// withProducts completes a by what goes with it on this node: who holds a GPU holds one of its product, and who asks
// for a product takes the GPU. A request that names both does not count twice.
func (n *Node) withProducts(a Amounts) Amounts {
	out := Amounts{}
	out.add(a)
	for name, product := range n.product {
		if a[name] == 0 && a[product] > 0 {
			out[name] = a[product]
		}
	}
	byProduct := Amounts{}
	for name, product := range n.product {
		byProduct[product] += out[name]
	}
	for product, count := range byProduct {
		if count > 0 {
			out[product] = max(out[product], count)
		}
	}
	return out
}

// Free is what nobody holds. A node that is lost has nothing to give.
func (n *Node) Free() Amounts {
	if n.Lost != "" {
		return Amounts{}
	}
	return n.Total.less(n.Foreign).less(n.Ours)
}

// Quota is what this node adds to a queue: all that others do not hold. A lost node adds what we still hold on it: runs
// there keep their quota until they are released, and it must not be taken from what the other nodes can give.
func (n *Node) Quota() Amounts {
	if n.Lost == "" {
		return n.Total.less(n.Foreign)
	}
	out := Amounts{}
	for name := range n.Total {
		out[name] = n.Ours[name]
	}
	return out
}

// lost says why a node takes no new pods. Taints that an administrator chose are no reason: whoever keeps nodes for
// benchmarks taints them, and the experiment tolerates it.
func lost(n *corev1.Node) string {
	if n.Spec.Unschedulable {
		return "cordoned"
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return "not ready"
		}
	}
	for _, taint := range n.Spec.Taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && systemTaint(taint.Key) {
			return "tainted " + taint.Key
		}
	}
	return ""
}

func systemTaint(key string) bool {
	leaving := []string{"ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler", "karpenter.sh/disrupted"}
	return slices.Contains(leaving, key) || strings.HasPrefix(key, "node.kubernetes.io/") ||
		strings.HasPrefix(key, "node.cloudprovider.kubernetes.io/")
}
