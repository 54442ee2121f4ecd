package objects_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/bootstrap/objects"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func onTarget(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	all, err := objects.Target{Name: "far", Namespaces: []string{"bench", "more"}, Hub: "uid-of-hub",
		Version: "v1"}.Objects()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestAQueueIsThatOfLocal: the queue of a target is that of the hub in the overlays, with another name.
func TestAQueueIsThatOfLocal(t *testing.T) {
	ours := objectsOf(t, full())
	for _, o := range (objects.Target{Name: "local", Namespaces: []string{"bench"}}).QueueObjects() {
		want := find(t, ours, o.GetKind(), o.GetNamespace(), o.GetName())
		if diff := cmp.Diff(want.Object["spec"], o.Object["spec"]); diff != "" {
			t.Errorf("%s %q (-local +made):\n%s", o.GetKind(), o.GetName(), diff)
		}
	}
	far := objects.Target{Name: "far", Labels: map[string]string{"region": "eu"},
		Namespaces: []string{"a", "b"}}.QueueObjects()
	var names []string
	for _, o := range far {
		names = append(names, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
	}
	want := []string{"ResourceFlavor /far", "AdmissionCheck /bflow-far", "ClusterQueue /far", "LocalQueue a/far",
		"LocalQueue b/far"}
	if !slices.Equal(names, want) || far[0].GetLabels()["region"] != "eu" {
		t.Errorf("got %q with labels %v", names, far[0].GetLabels())
	}
}

func TestEverythingOnATargetSaysWhoseItIs(t *testing.T) {
	for _, o := range onTarget(t) {
		l := o.GetLabels()
		if l["bflow.dev/hub"] != "uid-of-hub" || l["app.kubernetes.io/managed-by"] != "bflow" {
			t.Errorf("%s %q: %v", o.GetKind(), o.GetName(), l)
		}
		if group := o.GroupVersionKind().Group; group != "" && group != "rbac.authorization.k8s.io" {
			t.Errorf("%s %q is of group %s: a target needs nothing installed", o.GetKind(), o.GetName(), group)
		}
	}
}

// rightsOf returns the rights of an account on a target, such as "bench: create batch jobs", with the names that a
// rule is restricted to.
func rightsOf(t *testing.T, all []*unstructured.Unstructured, namespace, account string) map[string]bool {
	t.Helper()
	known := map[string][]rbacv1.PolicyRule{}
	for _, r := range roles(t, all) {
		known[r.kind+" "+r.namespace+"/"+r.name] = r.rules
	}
	out := map[string]bool{}
	for _, o := range all {
		subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
		for _, s := range subjects {
			subject := s.(map[string]any)
			if subject["name"] != account || subject["namespace"] != namespace {
				continue
			}
			kind, _, _ := unstructured.NestedString(o.Object, "roleRef", "kind")
			name, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
			in := o.GetNamespace()
			if kind == "ClusterRole" {
				in = ""
			}
			rules, ok := known[kind+" "+in+"/"+name]
			if !ok {
				t.Errorf("%s %q binds %s %q, which is not there", o.GetKind(), o.GetName(), kind, name)
			}
			for _, rule := range rules {
				expand(out, o.GetNamespace(), rule)
			}
		}
	}
	return out
}

func expand(out map[string]bool, namespace string, rule rbacv1.PolicyRule) {
	only := ""
	if len(rule.ResourceNames) > 0 {
		only = " " + strings.Join(rule.ResourceNames, ",")
	}
	for _, verb := range rule.Verbs {
		for _, resource := range rule.Resources {
			out[namespace+": "+verb+" "+resource+only] = true
		}
	}
}

func TestRightsOnATarget(t *testing.T) {
	all := onTarget(t)
	for _, r := range roles(t, all) {
		for _, rule := range r.rules {
			for _, word := range slices.Concat(rule.Verbs, rule.APIGroups, rule.Resources) {
				if strings.Contains(word, "*") || slices.Contains([]string{"escalate", "bind", "impersonate"}, word) {
					t.Errorf("%s %s/%s: %q", r.kind, r.namespace, r.name, word)
				}
			}
		}
	}
	agent, runner := rightsOf(t, all, "bflow-system", "bflow-agent"), rightsOf(t, all, "bench", "bflow-runner")
	for right := range agent {
		in, what, _ := strings.Cut(right, ": ")
		verb, resource, _ := strings.Cut(what, " ")
		switch {
		case strings.HasPrefix(resource, "secrets") && (in != "bench" && in != "more" || verb != "create" &&
			verb != "delete"):
			t.Errorf("the agent may %s", right)
		case in == "" && verb != "list" && verb != "watch":
			t.Errorf("the agent may change things everywhere: %s", right)
		case strings.HasPrefix(resource, "serviceaccounts") && !strings.Contains(resource, " bflow-"):
			t.Errorf("the agent may become anybody: %s", right)
		case slices.Contains([]string{"create", "patch", "update"}, verb) &&
			!strings.HasPrefix(resource, "serviceaccounts/token ") && !strings.HasPrefix(resource, "leases") &&
			resource != "secrets":
			t.Errorf("the agent may make something: %s", right)
		}
	}
	for _, want := range []string{": watch nodes", "bflow-system: create serviceaccounts/token bflow-agent",
		"more: create serviceaccounts/token bflow-runner", "more: delete secrets", "more: delete jobs"} {
		if !agent[want] {
			t.Errorf("the agent lacks %q of %q", want, slices.Sorted(maps.Keys(agent)))
		}
	}
	for right := range runner {
		switch {
		case strings.HasPrefix(right, "more: "):
			t.Errorf("the runner of one namespace may %s", right)
		case strings.HasPrefix(right, ": ") && right != ": list nodes":
			t.Errorf("the runner may %s everywhere", right)
		case strings.HasPrefix(right, "bflow-system: ") && right != "bflow-system: get leases bflow-platform":
			t.Errorf("the runner may %s", right)
		case strings.Contains(right, "list secrets"), strings.Contains(right, "watch secrets"):
			t.Errorf("the runner may look for Secrets: %s", right)
		}
	}
	if load := rightsOf(t, all, "bench", "bflow-load"); len(load) > 0 {
		t.Errorf("bflow-load may %v", load)
	}
	o := find(t, all, "ServiceAccount", "more", "bflow-load")
	if automount, ok, _ := unstructured.NestedBool(o.Object, "automountServiceAccountToken"); automount || !ok {
		t.Error("pods of account bflow-load get a token by accident")
	}
}
