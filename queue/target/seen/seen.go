// Package seen is the published state of a target for people: whether it answers, its devices, and who uses them. It
// must not connect to a cluster.
package seen

import (
	"encoding/json"
	"fmt"
	"time"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Key of the ConfigMap.
const Key = "seen.json"

// Target is what is seen of one target.
type Target struct {
	Up       bool             `json:"up"`
	Since    time.Time        `json:"since"`             // that Up has been as it is
	Why      string           `json:"why,omitempty"`     // it does not answer
	Version  string           `json:"version,omitempty"` // of its Kubernetes
	Complete bool             `json:"complete"`          // its nodes and pods are all known
	Nodes    int              `json:"nodes"`             // with devices
	Lost     []string         `json:"lost,omitempty"`    // nodes that take no pods
	Devices  map[string]Count `json:"devices,omitempty"` // by resource: "nvidia.com/gpu"
}

// Count is how many devices there are of a kind, on nodes that take pods, and who holds them.
type Count struct {
	Total   int64  `json:"total"`
	Free    int64  `json:"free"`
	Ours    int64  `json:"ours"`
	Foreign int64  `json:"foreign"`
	Product string `json:"product,omitempty"` // where all are of one
}

// Count fills in what an inventory tells.
func (t *Target) Count(inv *devices.Inventory) {
	t.Complete, t.Nodes, t.Lost, t.Devices = true, len(inv.Nodes), inv.Lost(), map[string]Count{}
	free, ours, foreign := inv.Free(), inv.Ours(), inv.Foreign()
	for _, g := range inv.Groups() {
		c, again := t.Devices[g.Resource]
		c.Total += g.Total
		c.Free, c.Ours, c.Foreign = free[g.Resource], ours[g.Resource], foreign[g.Resource]
		if !again {
			c.Product = g.Product
		} else if c.Product != g.Product {
			c.Product = ""
		}
		t.Devices[g.Resource] = c
	}
}

// ConfigMap is how it lies in the hub.
func (t Target) ConfigMap(name string) (*corev1.ConfigMap, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("writing what is seen of target %q: %w", name, err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: contract.NamespaceSystem, Name: contract.TargetCredentials(name),
			Labels: map[string]string{contract.LabelTarget: name, contract.LabelManagedBy: contract.ManagedBy}},
		Data: map[string]string{Key: string(text)},
	}, nil
}

// Read reads a ConfigMap back.
func Read(data map[string]string) (Target, error) {
	var t Target
	if err := json.Unmarshal([]byte(data[Key]), &t); err != nil {
		return t, fmt.Errorf("reading what is seen of a target: %w", err)
	}
	return t, nil
}
