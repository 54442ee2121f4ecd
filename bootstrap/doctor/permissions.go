package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"bflow.dev/bflow/bootstrap/overlays"
	"bflow.dev/bflow/internal/kube"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"
)

// roleUser is the ClusterRole with the rights for bflow run and related commands: the check asks for each of them.
const roleUser = "bflow-user"

// right is one action that an account may be allowed.
type right struct{ verb, group, resource, subresource string }

func (r right) String() string {
	s := r.verb + " " + r.resource
	if r.subresource != "" {
		s += "/" + r.subresource
	}
	if r.group != "" {
		s += "." + r.group
	}
	return s
}

// vital reports whether no run can be created without r; other rights are for reports, logs and positions.
func (r right) vital() bool {
	return r.resource == "pipelineruns" || r.resource == "configmaps" && r.verb == "create"
}

func (d *doctor) permissions(ctx context.Context) []Line {
	const check = "permissions"
	rights, err := userRights()
	if err != nil {
		return unreadable(check, err)
	}
	denied, err := d.denied(ctx, rights)
	if err != nil {
		return unreadable(check, err)
	}
	remedy := fmt.Sprintf(
		"let an administrator run: kubectl create rolebinding bflow-users --clusterrole %s --user YOU -n %s", roleUser,
		d.Namespace)
	switch {
	case len(denied) == 0:
		return []Line{ok(check, "your account has all permissions for bflow run in namespace %s", d.Namespace)}
	case slices.ContainsFunc(denied, right.vital):
		return []Line{fail(check, remedy, "your account may not start runs in namespace %s: %s", d.Namespace,
			listRights(denied))}
	default:
		return []Line{warn(check, remedy, "your account may start runs, but some commands of bflow will not work: %s",
			listRights(denied))}
	}
}

// listRights lists rights by resource: "pods (get, list), pods/log (get)".
func listRights(rights []right) string {
	verbs := map[string][]string{}
	var order []string
	for _, r := range rights {
		resource := strings.TrimPrefix(r.String(), r.verb+" ")
		if verbs[resource] == nil {
			order = append(order, resource)
		}
		verbs[resource] = append(verbs[resource], r.verb)
	}
	for i, resource := range order {
		order[i] = resource + " (" + strings.Join(verbs[resource], ", ") + ")"
	}
	return strings.Join(order, ", ")
}

// userRights returns every single right of the role, which has a file of its own.
func userRights() ([]right, error) {
	const file = "base/rbac-people.yaml"
	text, err := overlays.FS.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var role rbacv1.ClusterRole
	if err := yaml.Unmarshal(text, &role); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	var rights []right
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, name := range rule.Resources {
				resource, sub, _ := strings.Cut(name, "/")
				for _, verb := range rule.Verbs {
					rights = append(rights, right{verb, group, resource, sub})
				}
			}
		}
	}
	return rights, nil
}

// denied asks for each right by itself, several at a time: the server's review of all rules may be incomplete.
func (d *doctor) denied(ctx context.Context, rights []right) ([]right, error) {
	answers, errs := make([]bool, len(rights)), make([]error, len(rights))
	var all sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i, r := range rights {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			answers[i], errs[i] = d.allowed(ctx, r)
		})
	}
	all.Wait()
	var out []right
	for i, r := range rights {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if !answers[i] {
			out = append(out, r)
		}
	}
	return out, nil
}

func (d *doctor) allowed(ctx context.Context, r right) (bool, error) {
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]any{
			"namespace": d.Namespace, "verb": r.verb, "group": r.group, "resource": r.resource, "subresource": r.subresource,
		}},
	}}
	var answer unstructured.Unstructured
	at := kube.In("authorization.k8s.io", "v1", "selfsubjectaccessreviews")
	if err := d.client.Create(ctx, at, review, &answer, kube.Write{}); err != nil {
		return false, fmt.Errorf("asking whether your account may %s: %w", r, err)
	}
	allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, nil
}
