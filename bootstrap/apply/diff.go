package apply

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Diff returns the change as a unified diff of YAML, empty if nothing changed. The values of Secrets are left out.
func (c Change) Diff() string {
	if c.Action == Unchanged {
		return ""
	}
	old, now := text(c.Before), text(c.After)
	return string(diff.Diff("live/"+c.Key(), old, "bflow/"+c.Key(), now))
}

func text(u *unstructured.Unstructured) []byte {
	if u == nil {
		return nil
	}
	out, err := yaml.Marshal(hide(content(u)))
	if err != nil {
		return []byte(err.Error() + "\n")
	}
	return out
}

// isSame reports whether two states of an object have the same content and the same field owners.
func isSame(a, b *unstructured.Unstructured) bool {
	if a == nil || b == nil {
		return a == b
	}
	return reflect.DeepEqual(content(a), content(b)) && reflect.DeepEqual(owners(a), owners(b))
}

// owners returns the fields that each manager owns, regardless of the time.
func owners(u *unstructured.Unstructured) map[string]string {
	all := map[string]string{}
	for _, e := range u.GetManagedFields() {
		if e.FieldsV1 != nil {
			all[strings.Join([]string{e.Manager, string(e.Operation), e.Subresource, e.APIVersion},
				"/")] = e.FieldsV1.GetRawString()
		}
	}
	return all
}

// content returns an object without what the server sets.
func content(u *unstructured.Unstructured) map[string]any {
	u = u.DeepCopy()
	delete(u.Object, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	return u.Object
}

// hide removes the values from a Secret.
func hide(obj map[string]any) map[string]any {
	if obj["kind"] != "Secret" {
		return obj
	}
	for _, field := range []string{"data", "stringData"} {
		values, ok := obj[field].(map[string]any)
		for key, value := range values {
			if ok {
				values[key] = fmt.Sprintf("(%d characters)", len(fmt.Sprint(value)))
			}
		}
	}
	return obj
}
