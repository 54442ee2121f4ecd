package apply

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// makeObject is an object with nothing but a name.
func makeObject(version, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}}
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func everyKind() []*unstructured.Unstructured {
	return []*unstructured.Unstructured{
		makeObject("apps/v1", "Deployment", "s", "controller"),
		makeObject("kueue.x-k8s.io/v1beta2", "ClusterQueue", "", "local"),
		makeObject("apiregistration.k8s.io/v1", "APIService", "", "v1.x"),
		makeObject("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "hook"),
		makeObject("v1", "ConfigMap", "s", "config"),
		makeObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "queues"),
		makeObject("rbac.authorization.k8s.io/v1", "Role", "s", "role"),
		makeObject("v1", "Namespace", "", "s"),
	}
}

func TestPhasesComeInTheOrderInWhichObjectsNeedEachOther(t *testing.T) {
	var got []string
	for _, phase := range Phases(everyKind()) {
		for _, o := range phase {
			got = append(got, o.GetKind())
		}
		got = append(got, "|")
	}
	want := []string{"CustomResourceDefinition", "Namespace", "|", "ConfigMap", "Role", "|",
		"ValidatingWebhookConfiguration", "|", "Deployment", "|",
		"ClusterQueue", "APIService", "|"}
	if !slices.Equal(got, want) {
		t.Errorf("phases are %q, want %q", got, want)
	}
}

func TestWhatOthersAnswerForIsDeletedBeforeThem(t *testing.T) {
	var got []string
	for _, phase := range DeletePhases(RefsOf(everyKind())) {
		for _, r := range phase {
			got = append(got, r.Kind)
		}
		got = append(got, "|")
	}
	want := []string{"ClusterQueue", "APIService", "|", "ValidatingWebhookConfiguration", "|", "Deployment", "|",
		"ConfigMap", "Role", "|",
		"CustomResourceDefinition", "|", "Namespace", "|"}
	if !slices.Equal(got, want) {
		t.Errorf("phases are %q, want %q", got, want)
	}
}

func TestRefsSurviveTheirKey(t *testing.T) {
	for _, want := range RefsOf(everyKind()) {
		if got, err := ParseRef(want.Key()); err != nil || got != want {
			t.Errorf("%q is read as %v, %v", want.Key(), got, err)
		}
	}
	if _, err := ParseRef("apps/Deployment"); err == nil {
		t.Error("half a key is read")
	}
}
