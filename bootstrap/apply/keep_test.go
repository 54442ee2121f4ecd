package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func read(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestFieldsOfOthersAreLeftOut: only fields that a caller wants to keep, and only if another manager owns them.
func TestFieldsOfOthersAreLeftOut(t *testing.T) {
	const ours = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: c, namespace: n}
spec:
  replicas: 1
  template: {spec: {containers: [{name: a, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}, env: [{name: HOME, value: /tmp}]}]}}
`
	for _, row := range []struct{ name, manager, fields, want string }{
		{"nobody has set anything", "kubectl", `{}`, ours},
		{"a number", "kubectl", `{"f:spec":{"f:replicas":{}}}`, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: c, namespace: n}
spec:
  template: {spec: {containers: [{name: a, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}, env: [{name: HOME, value: /tmp}]}]}}
`},
		{"one of two in a map", "kubectl", `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:resources":{"f:requests":{"f:cpu":{}}}}}}}}}`, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: c, namespace: n}
spec:
  replicas: 1
  template: {spec: {containers: [{name: a, image: i, resources: {requests: {memory: 1Gi}}, env: [{name: HOME, value: /tmp}]}]}}
`},
		{"all of a map", "kubectl",
			`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:resources":{"f:requests":{".":{},"f:cpu":{},"f:memory":{}}}}}}}}}`, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: c, namespace: n}
spec:
  replicas: 1
  template: {spec: {containers: [{name: a, image: i, env: [{name: HOME, value: /tmp}]}]}}
`},
		{"the value of an item, which keeps its name", "kubectl",
			`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:env":{"k:{\"name\":\"HOME\"}":{".":{},"f:name":{},"f:value":{}}}}}}}}}`, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: c, namespace: n}
spec:
  replicas: 1
  template: {spec: {containers: [{name: a, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}, env: [{name: HOME}]}]}}
`},
		{"what is of another container", "kubectl",
			`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"b\"}":{"f:image":{}}}}}}}`, ours},
		{"what is not to stay", "kubectl", `{"f:metadata":{"f:labels":{"f:x":{}}},"f:spec":{"f:selector":{}}}`, ours},
		{"what we have set ourselves", Manager, `{"f:spec":{"f:replicas":{}}}`, ours},
	} {
		t.Run(row.name, func(t *testing.T) {
			obj, live := read(t, ours), read(t, ours)
			operation := "Update"
			if row.manager == Manager {
				operation = "Apply"
			}
			entry := map[string]any{"manager": row.manager, "operation": operation, "apiVersion": "apps/v1",
				"fieldsType": "FieldsV1", "fieldsV1": read(t, row.fields).Object}
			if err := unstructured.SetNestedSlice(live.Object, []any{entry}, "metadata", "managedFields"); err != nil {
				t.Fatal(err)
			}
			got, kept, err := keepOthers(obj, live, Manager, func(_ Ref, f Field) bool {
				return f.Under(".spec.replicas") ||
					f.Under(".spec.template")
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(read(t, row.want).Object, got.Object); diff != "" {
				t.Errorf("want + got:\n%s", diff)
			}
			if (len(kept) > 0) != (row.want != ours) {
				t.Errorf("kept %v", kept)
			}
			if diff := cmp.Diff(read(t, ours).Object, obj.Object); diff != "" {
				t.Errorf("what was given is changed:\n%s", diff)
			}
		})
	}
}
