package detect

import (
	"context"
	"maps"
	"slices"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/queue/devices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// Nodes is the hardware for runs.
type Nodes struct {
	Count   int      `json:"count"`
	Devices []Device `json:"devices,omitempty"`
	Ill     []Ill    `json:"ill,omitempty"`
	Lost    []string `json:"lost,omitempty"` // nodes with devices that accept no pods, and why
	// selects nodes without devices for task pods; empty if no label does
	LoadNodes map[string]string `json:"loadNodes,omitempty"`
	// cores that a load generator requests if all nodes are small, else empty
	LoadCPU string `json:"loadCPU,omitempty"`
}

// Device is one kind of accelerator of one product.
type Device struct {
	Resource string `json:"resource"`          // "nvidia.com/gpu"
	Product  string `json:"product,omitempty"` // its resource in a queue: "bflow.dev/gpu-h100"
	Nodes    int    `json:"nodes"`
	Total    int64  `json:"total"` // on nodes that accept pods
}

// Ill are devices that a node has and does not offer.
type Ill struct {
	Node     string `json:"node"`
	Resource string `json:"resource"`
	Count    int64  `json:"count"`
	Of       int64  `json:"of"`
}

// Nodes reads the nodes and, if the cluster has them, the slices of dynamic resource allocation.
func (c Cluster) Nodes(ctx context.Context, api API) (Nodes, error) {
	nodes, err := list[corev1.Node](ctx, c, kube.Core("nodes", "", ""), kube.Selector{})
	if err != nil {
		return Nodes{}, err
	}
	var slices []resourcev1.ResourceSlice
	if api.Serves("resource.k8s.io/v1", "resourceslices") {
		slices, err = list[resourcev1.ResourceSlice](ctx, c, kube.In("resource.k8s.io", "v1", "resourceslices"),
			kube.Selector{})
	}
	return nodesOf(nodes, slices), err
}

func nodesOf(nodes []corev1.Node, slices []resourcev1.ResourceSlice) Nodes {
	inventory := devices.Of(nodes, slices)
	n := Nodes{Count: len(nodes), Lost: inventory.Lost(), LoadNodes: loadNodes(nodes, inventory), LoadCPU: loadCPU(nodes)}
	for _, g := range inventory.Groups() {
		n.Devices = append(n.Devices, Device{Resource: g.Resource, Product: g.Product, Nodes: g.Nodes, Total: g.Total})
	}
	for i := range nodes {
		n.Ill = append(n.Ill, ill(&nodes[i])...)
	}
	return n
}

// ill lists devices that a device plugin has withdrawn: it lowers allocatable and leaves capacity.
func ill(node *corev1.Node) []Ill {
	var out []Ill
	for _, name := range slices.Sorted(maps.Keys(node.Status.Capacity)) {
		has, offers := node.Status.Capacity[name], node.Status.Allocatable[name]
		if missing := has.Value() - offers.Value(); missing > 0 && devices.IsDevice(string(name)) {
			out = append(out, Ill{Node: node.Name, Resource: string(name), Count: missing, Of: has.Value()})
		}
	}
	return out
}
