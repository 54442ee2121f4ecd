package target

import (
	"encoding/json"
	"fmt"
	"time"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StatusKey is the key of the ConfigMap that holds a Status.
const StatusKey = "seen.json"

// Status is what the controller writes down of a target, for people to read: whether it answers, what devices it has,
// and who holds them.
type Status struct {
	Up       bool                   `json:"up"`
	Since    time.Time              `json:"since"`             // that Up has been as it is
	Why      string                 `json:"why,omitempty"`     // it does not answer
	Version  string                 `json:"version,omitempty"` // of its Kubernetes
	Complete bool                   `json:"complete"`          // its nodes and pods are all known
	Nodes    int                    `json:"nodes"`             // with devices
	Lost     []string               `json:"lost,omitempty"`    // nodes that take no pods
	Devices  map[string]DeviceCount `json:"devices,omitempty"` // by resource: "nvidia.com/gpu"
}

// DeviceCount is how many devices there are of a kind, on nodes that take pods, and who holds them.
type DeviceCount struct {
	Total   int64  `json:"total"`
	Free    int64  `json:"free"`
	Ours    int64  `json:"ours"`
	Foreign int64  `json:"foreign"`
	Product string `json:"product,omitempty"` // where all are of one
}

// CountDevices fills in what an inventory holds.
func (s *Status) CountDevices(inv *devices.Inventory) {
	s.Complete, s.Nodes, s.Lost = true, len(inv.Nodes), inv.Lost()
	s.Devices = map[string]DeviceCount{}
	free, ours, foreign := inv.Free(), inv.Ours(), inv.Foreign()
	for _, g := range inv.Groups() {
		c, again := s.Devices[g.Resource]
		c.Total += g.Total
		c.Free, c.Ours, c.Foreign = free[g.Resource], ours[g.Resource], foreign[g.Resource]
		if !again {
			c.Product = g.Product
		} else if c.Product != g.Product {
			c.Product = ""
		}
		s.Devices[g.Resource] = c
	}
}

// ConfigMap is how it lies in the hub.
func (s Status) ConfigMap(name string) (*corev1.ConfigMap, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("writing the status of target %q: %w", name, err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: contract.NamespaceSystem, Name: contract.TargetCredentials(name),
			Labels: map[string]string{contract.LabelTarget: name, contract.LabelManagedBy: contract.ManagedBy}},
		Data: map[string]string{StatusKey: string(text)},
	}, nil
}

// ReadStatus reads a ConfigMap back.
func ReadStatus(data map[string]string) (Status, error) {
	var s Status
	if err := json.Unmarshal([]byte(data[StatusKey]), &s); err != nil {
		return s, fmt.Errorf("reading the status of a target: %w", err)
	}
	return s, nil
}
