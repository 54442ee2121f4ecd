package objects

import (
	"fmt"
	"maps"
	"slices"

	"bflow.dev/bflow/runplan/contract"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"
)

// Target is what the objects of one target depend on.
type Target struct {
	Name       string            // at the hub
	Labels     map[string]string // of its flavor, by which runs may choose it
	Namespaces []string          // of runs; none = DefaultNamespace
	Hub        string            // identity of the hub
	Version    string            // of bflow

	NetworkPolicies bool // who may talk to whom
}

func (t Target) withDefaults() Target {
	if len(t.Namespaces) == 0 {
		t.Namespaces = []string{DefaultNamespace}
	}
	if t.Version == "" {
		t.Version = "dev"
	}
	return t
}

// Objects returns the objects on the target.
func (t Target) Objects() ([]*unstructured.Unstructured, error) {
	t = t.withDefaults()
	k := types.Kustomization{
		TypeMeta:  types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind},
		Resources: []string{"../overlays/target"},
		Labels:    []types.Label{{Pairs: map[string]string{labelVersion: labelValue(t.Version)}}},
	}
	if t.NetworkPolicies {
		k.Components = []string{"../overlays/components/network-target"}
	}
	rendered, err := render(k)
	if err != nil {
		return nil, fmt.Errorf("rendering overlay %q: %w", "target", err)
	}
	var all []*unstructured.Unstructured
	for _, o := range rendered {
		if t.Hub != "" {
			AddLabels(o, map[string]string{contract.LabelHub: t.Hub})
		}
		all = append(all, perNamespace(o, t.Namespaces)...)
	}
	slices.SortStableFunc(all, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return all, nil
}

// QueueObjects returns the objects on the hub: those that the overlays have for target local, with another name. The
// ClusterQueue has no spec.resourceGroups: only the controller, which counts the devices, writes that field.
func (t Target) QueueObjects() []*unstructured.Unstructured {
	t = t.withDefaults()
	check := contract.TargetCheck(t.Name)
	all := []*unstructured.Unstructured{
		t.makeQueueObject("ResourceFlavor", t.Name, "", map[string]any{
			"nodeLabels": map[string]any{contract.LabelTarget: t.Name}}),
		t.makeQueueObject("AdmissionCheck", check, "", map[string]any{"controllerName": "bflow.dev/target",
			"parameters": map[string]any{"apiGroup": groupKueue, "kind": "ResourceFlavor", "name": t.Name}}),
		t.makeQueueObject("ClusterQueue", t.Name, "", map[string]any{
			"namespaceSelector":       map[string]any{"matchLabels": map[string]any{contract.LabelEnabled: "true"}},
			"queueingStrategy":        "StrictFIFO",
			"preemption":              map[string]any{"withinClusterQueue": "Never", "reclaimWithinCohort": "Never"},
			"admissionChecksStrategy": map[string]any{"admissionChecks": []any{map[string]any{"name": check}}},
		}),
	}
	AddLabels(all[0], t.Labels)
	for _, namespace := range t.Namespaces {
		all = append(all, t.makeQueueObject("LocalQueue", t.Name, namespace, map[string]any{"clusterQueue": t.Name}))
	}
	return all
}

const groupKueue = "kueue.x-k8s.io"

func (t Target) makeQueueObject(kind, name, namespace string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": groupKueue + "/v1beta2", "kind": kind,
		"spec": spec}}
	o.SetName(name)
	o.SetNamespace(namespace)
	labels := map[string]string{labelPartOf: partOf, contract.LabelManagedBy: contract.ManagedBy,
		labelVersion: labelValue(t.Version)}
	if kind != "LocalQueue" {
		maps.Copy(labels, map[string]string{contract.LabelTarget: t.Name})
	}
	o.SetLabels(labels)
	return o
}
