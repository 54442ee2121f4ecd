package objects

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// perNamespace returns a copy of o per namespace of runs if the overlays write it for DefaultNamespace: the namespace
// itself, objects in it, and objects elsewhere whose name ends with it.
func perNamespace(o *unstructured.Unstructured, namespaces []string) []*unstructured.Unstructured {
	const suffix = "-" + DefaultNamespace
	inside := o.GetNamespace() == DefaultNamespace
	itself := o.GetKind() == "Namespace" && o.GetName() == DefaultNamespace
	bound := !inside && strings.HasSuffix(o.GetName(), suffix)
	if !inside && !itself && !bound {
		return []*unstructured.Unstructured{o}
	}
	var all []*unstructured.Unstructured
	for _, namespace := range namespaces {
		c := o.DeepCopy()
		switch {
		case inside:
			c.SetNamespace(namespace)
		case itself:
			c.SetName(namespace)
		default:
			c.SetName(strings.TrimSuffix(o.GetName(), suffix) + "-" + namespace)
		}
		moveSubjects(c, namespace)
		moveEvents(c, namespace)
		all = append(all, c)
	}
	return all
}

// moveSubjects lets a binding name the accounts of its own namespace.
func moveSubjects(o *unstructured.Unstructured, namespace string) {
	subjects, _ := o.Object["subjects"].([]any)
	for _, s := range subjects {
		if subject, ok := s.(map[string]any); ok && subject["namespace"] == DefaultNamespace {
			subject["namespace"] = namespace
		}
	}
}

// moveEvents lets the Events of a TriggerTemplate name an object in their own namespace: the API server rejects
// others.
func moveEvents(o *unstructured.Unstructured, namespace string) {
	templates, _, _ := unstructured.NestedSlice(o.Object, "spec", "resourcetemplates")
	for _, t := range templates {
		made, ok := t.(map[string]any)
		if !ok || made["kind"] != "Event" {
			continue
		}
		if about, ok := made["involvedObject"].(map[string]any); ok {
			about["namespace"] = namespace
		}
	}
	if len(templates) > 0 {
		_ = unstructured.SetNestedSlice(o.Object, templates, "spec", "resourcetemplates")
	}
}

// formatLabels formats labels as a ConfigMap holds them: a=b,c=d.
func formatLabels(labels map[string]string) string {
	pairs := make([]string, 0, len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, key+"="+labels[key])
	}
	return strings.Join(pairs, ",")
}

// labelValue replaces what a label value and an image tag cannot hold by "-".
func labelValue(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, s)
	s = strings.TrimLeft(s, "-_.")
	return strings.TrimRight(s[:min(len(s), 63)], "-_.")
}
