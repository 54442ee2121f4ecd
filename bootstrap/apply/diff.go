package apply

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Diff is the change as a unified diff of YAML, empty when nothing changed. The bytes of Secrets are not in it.
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

// isSame tells whether two states of an object have the same content and the same owners of it.
func isSame(a, b *unstructured.Unstructured) bool {
	if a == nil || b == nil {
		return a == b
	}
	return reflect.DeepEqual(content(a), content(b)) && reflect.DeepEqual(owners(a), owners(b))
}

// owners are the fields that each manager owns, whenever it was that it wrote them.
func owners(u *unstructured.Unstructured) map[string]string {
	all := map[string]string{}
	for _, e := range u.GetManagedFields() {
		if e.FieldsV1 != nil {
			all[strings.Join([]string{e.Manager, string(e.Operation), e.Subresource, e.APIVersion}, "/")] = e.FieldsV1.GetRawString()
		}
	}
	return all
}

// content is an object without what the server counts and stamps.
func content(u *unstructured.Unstructured) map[string]any {
	u = u.DeepCopy()
	delete(u.Object, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	return u.Object
}

// hide takes the values out of a Secret.
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
