package objects_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/bootstrap/objects"

	"bflow.dev/bflow/internal/crd"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

// builtin are the kinds of the API server itself, with the types to decode them.
func builtin() map[string]func() any {
	return map[string]func() any{
		"Namespace":                        func() any { return &corev1.Namespace{} },
		"ServiceAccount":                   func() any { return &corev1.ServiceAccount{} },
		"ConfigMap":                        func() any { return &corev1.ConfigMap{} },
		"Secret":                           func() any { return &corev1.Secret{} },
		"Role":                             func() any { return &rbacv1.Role{} },
		"RoleBinding":                      func() any { return &rbacv1.RoleBinding{} },
		"ClusterRole":                      func() any { return &rbacv1.ClusterRole{} },
		"ClusterRoleBinding":               func() any { return &rbacv1.ClusterRoleBinding{} },
		"NetworkPolicy":                    func() any { return &networkingv1.NetworkPolicy{} },
		"Deployment":                       func() any { return &appsv1.Deployment{} },
		"PodDisruptionBudget":              func() any { return &policyv1.PodDisruptionBudget{} },
		"ValidatingAdmissionPolicy":        func() any { return &admissionv1.ValidatingAdmissionPolicy{} },
		"ValidatingAdmissionPolicyBinding": func() any { return &admissionv1.ValidatingAdmissionPolicyBinding{} },
	}
}

// elsewhere are kinds of operators whose schemas are not in this module.
var elsewhere = []string{"PodMonitor", "PrometheusRule", "GrafanaDashboard", "EventListener", "Trigger",
	"TriggerBinding", "TriggerTemplate"}

func TestEveryObjectFitsItsSchema(t *testing.T) {
	for _, c := range []objects.Config{full(), {Overlay: objects.OpenShift}, {Overlay: objects.AirGapped},
		{Overlay: objects.Dev}} {
		for _, o := range objectsOf(t, c) {
			name := fmt.Sprintf("%s %s %q", c.Overlay, o.GetKind(), o.GetName())
			switch {
			case o.GroupVersionKind().Group == "kueue.x-k8s.io":
				for _, err := range kueueSchema(t, o.GetKind()).Check(o.Object) {
					t.Errorf("%s: %v", name, err)
				}
				for _, err := range kueueRules(o) {
					t.Errorf("%s: %v", name, err)
				}
			case builtin()[o.GetKind()] != nil:
				text, err := o.MarshalJSON()
				if err == nil {
					err = yaml.UnmarshalStrict(text, builtin()[o.GetKind()]())
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			case o.GroupVersionKind().Group == "tekton.dev": // judged together
			case !slices.Contains(elsewhere, o.GetKind()):
				t.Errorf("%s: nothing here knows this kind", name)
			}
		}
	}
}

// kueueSchema reads the schema of a kind from the Kueue of go.mod.
func kueueSchema(t *testing.T, kind string) *crd.Schema {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kueue").Output()
	if err != nil {
		t.Fatalf("finding the Kueue module: %v", err)
	}
	plural := strings.ToLower(kind) + "s"
	if kind == "WorkloadPriorityClass" {
		plural = "workloadpriorityclasses"
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)),
		"config/components/crd/bases/kueue.x-k8s.io_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := crd.Of(text, "v1beta2")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// kueueRules are two rules of Kueue's webhook that are not in its schema: every flavor lists its resources in the
// order of coveredResources, and a check names only flavors of its queue.
func kueueRules(o *unstructured.Unstructured) []error {
	if o.GetKind() != "ClusterQueue" {
		return nil
	}
	var problems []error
	var flavors []string
	groups, _, _ := unstructured.NestedSlice(o.Object, "spec", "resourceGroups")
	for _, g := range groups {
		group := g.(map[string]any)
		covered, _, _ := unstructured.NestedStringSlice(group, "coveredResources")
		list, _, _ := unstructured.NestedSlice(group, "flavors")
		for _, f := range list {
			flavor := f.(map[string]any)
			flavors = append(flavors, flavor["name"].(string))
			var order []string
			for _, r := range flavor["resources"].([]any) {
				order = append(order, r.(map[string]any)["name"].(string))
			}
			if !slices.Equal(order, covered) {
				problems = append(problems, fmt.Errorf("flavor %v lists %v, want the order %v", flavor["name"], order, covered))
			}
		}
	}
	checks, _, _ := unstructured.NestedSlice(o.Object, "spec", "admissionChecksStrategy", "admissionChecks")
	for _, c := range checks {
		on, _, _ := unstructured.NestedStringSlice(c.(map[string]any), "onFlavors")
		for _, name := range on {
			if !slices.Contains(flavors, name) {
				problems = append(problems, fmt.Errorf("a check names flavor %q, which the queue does not have", name))
			}
		}
	}
	return problems
}

func TestTheControllerFitsARestrictedNamespace(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	text, err := find(t, objectsOf(t, objects.Config{}), "Deployment", "bflow-system", "bflow-controller").MarshalJSON()
	if err == nil {
		err = yaml.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, r := range evaluator.EvaluatePod(level, &metav1.ObjectMeta{}, &d.Spec.Template.Spec) {
		if !r.Allowed {
			t.Errorf("%s: %s", r.ForbiddenReason, r.ForbiddenDetail)
		}
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.SecurityContext.RunAsUser != nil || d.Spec.Template.Spec.SecurityContext.RunAsUser != nil {
			t.Error("the controller names a user, which OpenShift assigns")
		}
		if root := c.SecurityContext.ReadOnlyRootFilesystem; root == nil || !*root {
			t.Error("the root of the controller can be written")
		}
	}
}
