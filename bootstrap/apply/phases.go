package apply

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Phases in the order in which objects are written. Each may need objects of the ones before.
const (
	PhaseDefinitions = iota // namespaces and CRDs
	PhaseContent            // accounts, rights, configuration, Services
	PhaseAdmission          // webhooks and policies, before the workloads that complete them
	PhaseWorkloads
	PhaseCustom // objects of CRDs, and aggregated APIs: a workload serves them
	phaseCount
)

// Phases sorts objects into the phases in which they are written, and keeps their order within a phase.
func Phases(objects []*unstructured.Unstructured) [][]*unstructured.Unstructured {
	phases := make([][]*unstructured.Unstructured, phaseCount)
	for _, o := range objects {
		p := phaseOf(RefOf(o))
		phases[p] = append(phases[p], o)
	}
	return phases
}

// DeletePhases sorts references into the phases in which objects are deleted: in reverse, except that webhooks go
// before the workload that serves them (a webhook without a server rejects everything), and CRDs and namespaces go
// last.
func DeletePhases(refs []Ref) [][]Ref {
	phases := make([][]Ref, phaseCount)
	for _, r := range refs {
		p := phaseOf(r)
		phases[p] = append(phases[p], r)
	}
	order := [][]Ref{phases[PhaseCustom], phases[PhaseAdmission], phases[PhaseWorkloads], phases[PhaseContent]}
	isNamespace := func(r Ref) bool { return r.Group == "" && r.Kind == "Namespace" }
	definitions, namespaces := slices.Clone(phases[PhaseDefinitions]), slices.Clone(phases[PhaseDefinitions])
	return append(order, slices.DeleteFunc(definitions, isNamespace),
		slices.DeleteFunc(namespaces, func(r Ref) bool { return !isNamespace(r) }))
}

func phaseOf(r Ref) int {
	switch r.Group {
	case "apiextensions.k8s.io":
		return PhaseDefinitions
	case "admissionregistration.k8s.io":
		return PhaseAdmission
	case "apps", "batch", "autoscaling", "policy":
		return PhaseWorkloads
	case "":
		if r.Kind == "Namespace" {
			return PhaseDefinitions
		}
		return PhaseContent
	case "rbac.authorization.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "networking.k8s.io",
		"flowcontrol.apiserver.k8s.io", "coordination.k8s.io", "node.k8s.io":
		return PhaseContent
	}
	return PhaseCustom
}
