package audit

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Granted returns the rights that the bindings among objects give to ServiceAccounts, by the roles among them.
func Granted(objects []*unstructured.Unstructured) ([]Right, error) {
	rules := map[string][]rbacv1.PolicyRule{}
	var bindings []rbacv1.RoleBinding
	for _, o := range objects {
		switch o.GetKind() {
		case "Role", "ClusterRole":
			var role rbacv1.Role
			if err := read(o, &role); err != nil {
				return nil, err
			}
			rules[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = role.Rules
		case "RoleBinding", "ClusterRoleBinding":
			var binding rbacv1.RoleBinding
			if err := read(o, &binding); err != nil {
				return nil, err
			}
			bindings = append(bindings, binding)
		}
	}
	var all []Right
	for _, b := range bindings {
		namespace := b.Namespace
		if b.RoleRef.Kind == "ClusterRole" {
			namespace = ""
		}
		role, ok := rules[b.RoleRef.Kind+" "+namespace+"/"+b.RoleRef.Name]
		if !ok {
			return nil, fmt.Errorf("reading binding %q: it names %s %q, which is not there",
				b.Name, b.RoleRef.Kind, b.RoleRef.Name)
		}
		for _, s := range b.Subjects {
			all = append(all, expand(s.Namespace+"/"+s.Name, b.Namespace, role)...)
		}
	}
	return all, nil
}

func expand(account, namespace string, rules []rbacv1.PolicyRule) []Right {
	var all []Right
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, Right{account, namespace, verb, group, resource})
				}
			}
		}
	}
	return all
}

func read(o *unstructured.Unstructured, to any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, to); err != nil {
		return fmt.Errorf("reading %s %q: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// Unused returns the rights of granted that l does not show, sorted.
func (l Log) Unused(granted []Right) []Right {
	var out []Right
	for _, r := range granted {
		if l.Used[r] == 0 {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Right) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out)
}
