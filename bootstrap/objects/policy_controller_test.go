package objects_test

import (
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// TestTheControllerWritesInNamespacesOfRunsOnly judges requests as the API server does: first whether the policy
// applies to the namespace, then by its rule.
func TestTheControllerWritesInNamespacesOfRunsOnly(t *testing.T) {
	p := compilePolicy(t, "bflow-controller-runs")
	selector, err := metav1.LabelSelectorAsSelector(p.policy.Spec.MatchConstraints.NamespaceSelector)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name      string
		by        string
		namespace string
		enabled   string // value of the label; "" = no label
		want      string // part of the refusal, "" = allowed
	}{
		{name: "a namespace of runs", by: theController, namespace: "bench", enabled: "true"},
		{name: "its own namespace", by: theController, namespace: "bflow-system"},
		{name: "a namespace of somebody else", by: theController, namespace: "shop",
			want: "bflow bootstrap namespace add shop"},
		{name: "a namespace of runs no more", by: theController, namespace: "bench", enabled: "false",
			want: "only in namespaces for runs"},
		{name: "the system's", by: theController, namespace: "kube-system", want: "only in namespaces for runs"},
		{name: "what others write there is not looked at", by: somebody, namespace: "shop"},
	} {
		t.Run(row.name, func(t *testing.T) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: row.namespace}}
			if row.enabled != "" {
				namespace.Labels = map[string]string{"bflow.dev/enabled": row.enabled}
			}
			got := ""
			if selector.Matches(labels.Set(namespace.Labels)) {
				got = p.refusalsIn(t, namespace, row.by, edit(t, started), edit(t, started))
			}
			if row.want == "" && got != "" || !strings.Contains(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// TestThePolicyLooksAtAllThatTheControllerMayWriteEverywhere compares the policy with the ClusterRole whose writes it
// restricts.
func TestThePolicyLooksAtAllThatTheControllerMayWriteEverywhere(t *testing.T) {
	p := compilePolicy(t, "bflow-controller-runs")
	for _, r := range roles(t, objectsOf(t, full())) {
		if r.kind != "ClusterRole" || r.name != "bflow-controller-runs" {
			continue
		}
		for _, rule := range r.rules {
			for _, resource := range rule.Resources {
				if writes(rule) && !looksAt(p.policy, rule.APIGroups[0], resource) {
					t.Errorf("%s of group %q are written by the controller, and the policy does not look at them", resource,
						rule.APIGroups[0])
				}
			}
		}
	}
}

func writes(rule rbacv1.PolicyRule) bool {
	return slices.ContainsFunc(rule.Verbs, func(verb string) bool {
		return !slices.Contains([]string{"get", "list", "watch"}, verb)
	})
}

func looksAt(policy admissionregistrationv1.ValidatingAdmissionPolicy, group, resource string) bool {
	parent, _, below := strings.Cut(resource, "/")
	return slices.ContainsFunc(policy.Spec.MatchConstraints.ResourceRules,
		func(r admissionregistrationv1.NamedRuleWithOperations) bool {
			return slices.Contains(r.APIGroups, group) && len(r.Operations) == 3 &&
				(slices.Contains(r.Resources, resource) || below && slices.Contains(r.Resources, parent+"/*"))
		})
}

// TestNothingOfTheControllerLiesInANamespaceOfRuns: its Roles would be deleted with the namespace, before the
// controller has cleaned up.
func TestNothingOfTheControllerLiesInANamespaceOfRuns(t *testing.T) {
	for _, o := range objectsOf(t, full()) {
		if o.GetName() == "bflow-controller" && o.GetNamespace() != "" && o.GetNamespace() != "bflow-system" {
			t.Errorf("%s %s/%s goes with its namespace", o.GetKind(), o.GetNamespace(), o.GetName())
		}
	}
}
