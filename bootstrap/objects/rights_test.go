package objects_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan/contract"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// role is a Role or ClusterRole.
type role struct {
	kind, namespace, name string
	rules                 []rbacv1.PolicyRule
}

func roles(t *testing.T, all []*unstructured.Unstructured) []role {
	t.Helper()
	var out []role
	for _, o := range all {
		if o.GetKind() != "Role" && o.GetKind() != "ClusterRole" {
			continue
		}
		var r rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, role{o.GetKind(), o.GetNamespace(), o.GetName(), r.Rules})
	}
	return out
}

func TestNoRightIsAWildcard(t *testing.T) {
	for _, r := range roles(t, objectsOf(t, full())) {
		for _, rule := range r.rules {
			for _, word := range slices.Concat(rule.Verbs, rule.APIGroups, rule.Resources, rule.NonResourceURLs) {
				if strings.Contains(word, "*") {
					t.Errorf("%s %s/%s: %q", r.kind, r.namespace, r.name, word)
				}
			}
			for _, verb := range []string{"escalate", "bind", "impersonate"} {
				if slices.Contains(rule.Verbs, verb) {
					t.Errorf("%s %s/%s may %s", r.kind, r.namespace, r.name, verb)
				}
			}
		}
	}
}

// TestSecretsAreReadInTheSystemNamespaceOnly: the controller finds the credentials of targets there, and renews them.
func TestSecretsAreReadInTheSystemNamespaceOnly(t *testing.T) {
	theirs := []string{"list", "watch", "patch"}
	for _, r := range roles(t, objectsOf(t, full())) {
		for _, rule := range r.rules {
			if !slices.Contains(rule.Resources, "secrets") {
				continue
			}
			for _, verb := range rule.Verbs {
				reads := slices.Contains([]string{"get", "list", "watch", "update", "patch"}, verb)
				if reads && (r.kind != "Role" || r.namespace != "bflow-system" || r.name != "bflow-controller" ||
					!slices.Contains(theirs, verb)) {
					t.Errorf("%s %s/%s may %s secrets", r.kind, r.namespace, r.name, verb)
				}
			}
		}
	}
}

func TestNoBindingNamesARoleOfTheCluster(t *testing.T) {
	all := objectsOf(t, full())
	ours := map[string]bool{}
	for _, r := range roles(t, all) {
		ours[r.kind+" "+r.namespace+"/"+r.name] = true
	}
	for _, o := range all {
		if o.GetKind() != "RoleBinding" && o.GetKind() != "ClusterRoleBinding" {
			continue
		}
		kind, _, _ := unstructured.NestedString(o.Object, "roleRef", "kind")
		name, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
		namespace := o.GetNamespace()
		if kind == "ClusterRole" {
			namespace = ""
		}
		if !ours[kind+" "+namespace+"/"+name] {
			t.Errorf("%s %s/%s binds %s %q, which is not ours", o.GetKind(), o.GetNamespace(), o.GetName(), kind, name)
		}
	}
}

// TestAnEndpointPickerSeesPodsOnly: an experiment names its image.
func TestAnEndpointPickerSeesPodsOnly(t *testing.T) {
	want := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}}}
	all := objectsOf(t, full())
	for _, o := range all {
		subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
		for _, s := range subjects {
			if s.(map[string]any)["name"] == contract.AccountPicker && (o.GetKind() != "RoleBinding" ||
				o.GetName() != contract.AccountPicker) {
				t.Errorf("%s %q gives it rights", o.GetKind(), o.GetName())
			}
		}
	}
	for _, r := range roles(t, all) {
		if r.name == contract.AccountPicker && !reflect.DeepEqual(r.rules, want) {
			t.Errorf("in namespace %s it may %v", r.namespace, r.rules)
		}
	}
}

// TestAccountsThatHaveNoRightsAndNoToken: pods of bflow-load run what experiments name, and the token of bflow-metrics
// is sent to servers.
func TestAccountsThatHaveNoRightsAndNoToken(t *testing.T) {
	all := objectsOf(t, full())
	for name, namespace := range map[string]string{contract.AccountLoad: "bench",
		contract.AccountMetrics: contract.NamespaceSystem} {
		account := find(t, all, "ServiceAccount", namespace, name)
		if automount, ok, _ := unstructured.NestedBool(account.Object, "automountServiceAccountToken"); automount || !ok {
			t.Errorf("pods of %s get a token", name)
		}
		for _, o := range all {
			subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
			for _, s := range subjects {
				if s.(map[string]any)["name"] == name {
					t.Errorf("%s %q gives %s rights", o.GetKind(), o.GetName(), name)
				}
			}
		}
	}
}
