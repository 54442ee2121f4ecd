package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"bflow.dev/bflow/bootstrap/apply"
	queuetarget "bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"
)

// TargetState is one target as the hub sees it.
type TargetState struct {
	Name    string              `json:"name"`
	Labels  map[string]string   `json:"labels,omitempty"`
	Seen    *queuetarget.Status `json:"seen,omitempty"` // nil where nothing is known, or may be read
	Running int64               `json:"running"`        // runs that hold its devices
	Waiting int64               `json:"waiting"`        // runs in its queue
	Held    bool                `json:"held,omitempty"` // its queue lets nothing start
	Dirty   []string            `json:"dirty,omitempty"`
	Lacks   []string            `json:"lacks,omitempty"` // namespaces for whose runs its accounts lack rights
}

// Targets lists the targets of the hub. Missing rights are listed if the installation is of the given version. What
// may not be read is left out, and is in the error beside the rest.
func (h *Hub) Targets(ctx context.Context, version string) ([]TargetState, error) {
	flavors, err := h.cluster.List(ctx, kueueKind("ResourceFlavor"), "", "")
	if err != nil {
		return nil, fmt.Errorf("listing targets: %w", err)
	}
	rights, err := rightsOnTargets()
	if err != nil {
		return nil, fmt.Errorf("listing targets: %w", err)
	}
	all := []TargetState{}
	inv, unread := ReadInventory(ctx, h.cluster)
	for _, flavor := range flavors {
		name, _, _ := unstructured.NestedString(flavor.Object, "spec", "nodeLabels", contract.LabelTarget)
		if name == "" {
			continue
		}
		state := TargetState{Name: name, Labels: ownLabels(flavor)}
		if dirty := flavor.GetAnnotations()[contract.AnnotationDirty]; dirty != "" {
			state.Dirty = strings.Split(dirty, ",")
		}
		unread = errors.Join(unread, h.readQueueState(ctx, &state), h.readSeenState(ctx, &state))
		if _, remote := inv.Settings.Targets[name]; remote && inv.Settings.Versions[partBflow] == version {
			state.Lacks = inv.Settings.lacking(name, rights)
		}
		all = append(all, state)
	}
	slices.SortFunc(all, func(a, b TargetState) int { return cmp.Compare(a.Name, b.Name) })
	return all, unread
}

func (h *Hub) readQueueState(ctx context.Context, state *TargetState) error {
	queue, err := h.cluster.Get(ctx, apply.Ref{Group: kueueGroup, Kind: "ClusterQueue", Name: state.Name})
	if err != nil || queue == nil {
		return err
	}
	state.Running, _, _ = unstructured.NestedInt64(queue.Object, "status", "reservingWorkloads")
	state.Waiting, _, _ = unstructured.NestedInt64(queue.Object, "status", "pendingWorkloads")
	policy, _, _ := unstructured.NestedString(queue.Object, "spec", "stopPolicy")
	state.Held = policy != "" && policy != "None"
	return nil
}

func (h *Hub) readSeenState(ctx context.Context, state *TargetState) error {
	u, err := h.cluster.Get(ctx, seenRef(state.Name))
	if err != nil || u == nil {
		return err
	}
	now := readSeen(u)
	state.Seen = &now
	return nil
}

// ownLabels returns the labels that a person gave.
func ownLabels(o *unstructured.Unstructured) map[string]string {
	labels := maps.Clone(o.GetLabels())
	maps.DeleteFunc(labels, func(key, _ string) bool {
		return strings.HasPrefix(key, contract.Prefix) || strings.HasPrefix(key, "app.kubernetes.io/")
	})
	return labels
}

const kueueGroup = "kueue.x-k8s.io"

func kueueKind(kind string) schema.GroupKind { return schema.GroupKind{Group: kueueGroup, Kind: kind} }

func seenRef(name string) apply.Ref {
	return apply.Ref{Kind: "ConfigMap", Namespace: contract.NamespaceSystem, Name: contract.TargetCredentials(name)}
}

// credentialsOf returns what the hub keeps of a target other than its queue.
func credentialsOf(name string) []apply.Ref {
	return []apply.Ref{{Kind: "Secret", Namespace: contract.NamespaceSystem, Name: contract.TargetCredentials(name)},
		seenRef(name)}
}

func readSeen(u *unstructured.Unstructured) queuetarget.Status {
	if u == nil {
		return queuetarget.Status{}
	}
	data, _, _ := unstructured.NestedStringMap(u.Object, "data")
	now, err := queuetarget.ReadStatus(data)
	if err != nil {
		return queuetarget.Status{Why: err.Error()}
	}
	return now
}

// describeSeen is "8 nvidia.com/gpu, 5 free".
func describeSeen(t queuetarget.Status) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(t.Devices)) {
		parts = append(parts, fmt.Sprintf("%d %s, %d free", t.Devices[name].Total, name, t.Devices[name].Free))
	}
	return cmp.Or(strings.Join(parts, "; "), "no devices")
}
