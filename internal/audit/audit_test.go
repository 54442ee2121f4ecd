package audit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const log = `{"stage":"RequestReceived","verb":"list","user":{"username":"system:serviceaccount:bench:runner"},"objectRef":{"resource":"pods","namespace":"bench"}}
{"stage":"ResponseComplete","verb":"list","user":{"username":"system:serviceaccount:bench:runner"},"objectRef":{"resource":"pods","namespace":"bench"},"responseStatus":{"code":200},"annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":"RBAC: allowed by RoleBinding \"runner/bench\" of Role \"runner\" to ServiceAccount \"runner/bench\""}}
{"stage":"ResponseComplete","verb":"patch","user":{"username":"system:serviceaccount:bench:runner"},"objectRef":{"resource":"configmaps","namespace":"bench"},"responseStatus":{"code":201},"annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":"RBAC: allowed by RoleBinding \"runner/bench\" of Role \"runner\" to ServiceAccount \"runner/bench\""}}
{"stage":"ResponseStarted","verb":"watch","user":{"username":"admin"},"impersonatedUser":{"username":"system:serviceaccount:bench:runner"},"objectRef":{"resource":"nodes"},"responseStatus":{"code":200},"annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":"RBAC: allowed by ClusterRoleBinding \"nodes\" of ClusterRole \"nodes\" to ServiceAccount \"runner/bench\""}}
{"stage":"ResponseComplete","verb":"get","user":{"username":"system:serviceaccount:bench:runner"},"objectRef":{"resource":"pods","subresource":"log","namespace":"bench"},"responseStatus":{"code":403},"annotations":{"authorization.k8s.io/decision":"forbid"}}
{"stage":"ResponseComplete","verb":"create","user":{"username":"system:serviceaccount:bench:runner"},"objectRef":{"resource":"selfsubjectreviews","apiGroup":"authentication.k8s.io"},"responseStatus":{"code":201},"annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":"RBAC: allowed by ClusterRoleBinding \"system:basic-user\" of ClusterRole \"system:basic-user\" to Group \"system:authenticated\""}}
{"stage":"ResponseComplete","verb":"get","user":{"username":"system:serviceaccount:kube-system:other"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}
`

const roles = `
- {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: runner, namespace: bench}, rules: [{apiGroups: [""], resources: [pods, configmaps], verbs: [list, patch]}]}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: runner, namespace: bench}, roleRef: {kind: Role, name: runner}, subjects: [{kind: ServiceAccount, name: runner, namespace: bench}]}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: nodes}, rules: [{apiGroups: [""], resources: [nodes], verbs: [watch]}]}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: nodes}, roleRef: {kind: ClusterRole, name: nodes}, subjects: [{kind: ServiceAccount, name: runner, namespace: bench}]}
`

func TestRightsGrantedAreComparedWithRightsUsed(t *testing.T) {
	ours := func(name string) bool { return name == "runner" || name == "nodes" || name == "bench/runner" }
	l, err := Read(strings.NewReader(log), ours, ours)
	if err != nil {
		t.Fatal(err)
	}
	const account = "bench/runner"
	used := map[Right]int{
		{account, "bench", "list", "", "pods"}:         1,
		{account, "bench", "patch", "", "configmaps"}:  1,
		{account, "bench", "create", "", "configmaps"}: 1,
		{account, "", "watch", "", "nodes"}:            1,
	}
	if diff := cmp.Diff(used, l.Used); diff != "" {
		t.Errorf("used, -want +got\n%s", diff)
	}
	if diff := cmp.Diff(map[Right]int{{account, "bench", "get", "", "pods/log"}: 1}, l.Refused); diff != "" {
		t.Errorf("refused, -want +got\n%s", diff)
	}
	var trees []map[string]any
	if err := yaml.Unmarshal([]byte(roles), &trees); err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, tree := range trees {
		objects = append(objects, &unstructured.Unstructured{Object: tree})
	}
	granted, err := Granted(objects)
	if err != nil {
		t.Fatal(err)
	}
	var unused []string
	for _, r := range l.Unused(granted) {
		unused = append(unused, r.String())
	}
	want := []string{"bench/runner may list configmaps in bench", "bench/runner may patch pods in bench"}
	if diff := cmp.Diff(want, unused); diff != "" {
		t.Errorf("unused, -want +got\n%s", diff)
	}
	if _, err := Granted(objects[1:]); err == nil ||
		!strings.Contains(err.Error(), `names Role "runner", which is not there`) {
		t.Errorf("a binding without its role: %v", err)
	}
}
