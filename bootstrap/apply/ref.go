package apply

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ref names one object of a cluster, in any version of its API.
type Ref struct{ Group, Kind, Namespace, Name string }

// RefOf returns the reference of an object.
func RefOf(u *unstructured.Unstructured) Ref {
	gvk := u.GroupVersionKind()
	return Ref{Group: gvk.Group, Kind: gvk.Kind, Namespace: u.GetNamespace(), Name: u.GetName()}
}

// RefsOf returns the references of objects, in their order.
func RefsOf(objects []*unstructured.Unstructured) []Ref {
	refs := make([]Ref, 0, len(objects))
	for _, o := range objects {
		refs = append(refs, RefOf(o))
	}
	return refs
}

// ParseRef parses the result of Key.
func ParseRef(key string) (Ref, error) {
	parts := strings.Split(key, "/")
	if len(parts) != 4 || parts[1] == "" || parts[3] == "" {
		return Ref{}, fmt.Errorf("reading the name of an object %q: want GROUP/KIND/NAMESPACE/NAME", key)
	}
	return Ref{Group: parts[0], Kind: parts[1], Namespace: parts[2], Name: parts[3]}, nil
}

// Key returns GROUP/KIND/NAMESPACE/NAME, in which group and namespace may be empty.
func (r Ref) Key() string { return r.Group + "/" + r.Kind + "/" + r.Namespace + "/" + r.Name }

// String returns the reference for people.
func (r Ref) String() string {
	if r.Namespace == "" {
		return fmt.Sprintf("%s %q", r.Kind, r.Name)
	}
	return fmt.Sprintf("%s %q in %q", r.Kind, r.Name, r.Namespace)
}

// Compare orders references by group, kind, namespace and name.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(cmp.Compare(r.Group, o.Group), cmp.Compare(r.Kind, o.Kind), cmp.Compare(r.Namespace, o.Namespace),
		cmp.Compare(r.Name, o.Name))
}

// GroupKind returns the kind without a version.
func (r Ref) GroupKind() schema.GroupKind { return schema.GroupKind{Group: r.Group, Kind: r.Kind} }
