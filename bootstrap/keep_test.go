package bootstrap

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/apitest/ownership"
)

// ownedHub is a hub with an installation on a server that tracks field owners.
func ownedHub(t *testing.T) (*apitest.Server, *Hub, *strings.Builder) {
	t.Helper()
	s, hub, said := bareServer(t)
	s.Own(ownership.New())
	must(t, hub.Install(t.Context(), Options{Version: "v1.0.0", Namespaces: []string{"bench"}}))
	said.Reset()
	return s, hub, said
}

const (
	ofController = "/apis/apps/v1/namespaces/bflow-system/deployments/bflow-controller"
	ofHub        = "/api/v1/namespaces/bench/configmaps/bflow-hub"
	ofRole       = "/apis/rbac.authorization.k8s.io/v1/clusterroles/bflow-nodes"
)

// patched changes an object as a person does with kubectl.
func patched(t *testing.T, s *apitest.Server, path, manager, patch string) {
	t.Helper()
	client, err := dynamic.NewForConfig(s.Config())
	must(t, err)
	parts := strings.Split(strings.Trim(path, "/"), "/")
	kind := schema.GroupVersionResource{Version: parts[1]}
	if parts = parts[2:]; strings.HasPrefix(path, "/apis/") {
		kind = schema.GroupVersionResource{Group: kind.Version, Version: parts[0]}
		parts = parts[1:]
	}
	namespace := ""
	if parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	kind.Resource = parts[0]
	_, err = client.Resource(kind).Namespace(namespace).Patch(t.Context(), parts[1], types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: manager})
	must(t, err)
}

// container patches a field of the only container of a Deployment.
func container(t *testing.T, s *apitest.Server, path, field, value string) {
	t.Helper()
	all, _, _ := unstructured.NestedSlice(s.Get(path), "spec", "template", "spec", "containers")
	var v any
	must(t, json.Unmarshal([]byte(value), &v))
	all[0].(map[string]any)[field] = v
	text,
		err := json.Marshal(map[string]any{"spec": map[string]any{
		"template": map[string]any{"spec": map[string]any{"containers": all}}}})
	must(t, err)
	patched(t, s, path, "kubectl-set", string(text))
}

func ofContainer(s *apitest.Server, path string, fields ...string) any {
	all, _, _ := unstructured.NestedSlice(s.Get(path), "spec", "template", "spec", "containers")
	v, _, _ := unstructured.NestedFieldNoCopy(all[0].(map[string]any), fields...)
	return v
}

func TestWhatPeopleHaveSetStays(t *testing.T) {
	for _, row := range []struct {
		name  string
		set   func(*testing.T, *apitest.Server)
		value func(*apitest.Server) any
		want  any
		taken bool // with --force-conflicts
	}{
		{"kubectl scale", func(t *testing.T, s *apitest.Server) {
			patched(t, s, ofController, "kubectl", `{"spec":{"replicas":3}}`)
		},
			func(s *apitest.Server) any {
				n, _, _ := unstructured.NestedInt64(s.Get(ofController), "spec", "replicas")
				return n
			}, int64(3), false},
		{"kubectl set resources", func(t *testing.T, s *apitest.Server) {
			all := ofContainer(s, ofController, "resources").(map[string]any)
			all["requests"].(map[string]any)["cpu"] = "77m"
			text, _ := json.Marshal(all)
			container(t, s, ofController, "resources", string(text))
		}, func(s *apitest.Server) any { return ofContainer(s, ofController, "resources", "requests", "cpu") }, "77m", false},
		{"kubectl set image", func(t *testing.T, s *apitest.Server) {
			container(t, s, ofController, "image",
				`"mine.example/c:1"`)
		},
			func(s *apitest.Server) any { return ofContainer(s, ofController, "image") }, "mine.example/c:1", true},
		{"kubectl set env", func(t *testing.T, s *apitest.Server) {
			env, _ := json.Marshal(append([]any{map[string]any{"name": "HOME", "value": "/mine"}},
				ofContainer(s, ofController, "env").([]any)[1:]...))
			container(t, s, ofController, "env", string(env))
		}, func(s *apitest.Server) any {
			return ofContainer(s, ofController, "env").([]any)[0].(map[string]any)["value"]
		}, "/mine", true},
		{"the load's cores", func(t *testing.T, s *apitest.Server) {
			patched(t, s, ofHub, "kubectl-patch", `{"data":{"load-cpu":"50m"}}`)
		},
			func(s *apitest.Server) any { return s.Get(ofHub)["data"].(map[string]any)["load-cpu"] }, "50m", false},
		{"another key of that ConfigMap", func(t *testing.T, s *apitest.Server) {
			patched(t, s, ofHub, "kubectl-edit", `{"data":{"images":"mine.example"}}`)
		},
			func(s *apitest.Server) any { return s.Get(ofHub)["data"].(map[string]any)["images"] }, "mine.example", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, hub, said := ownedHub(t)
			row.set(t, s)
			again := Options{Version: "v1.0.0"}
			must(t, hub.Install(t.Context(), again))
			if got := row.value(s); got != row.want {
				t.Errorf("a second call made it %v, want %v", got, row.want)
			}
			if !strings.Contains(said.String(), " stays as kubectl") ||
				strings.Contains(said.String(), "--force-conflicts") != row.taken {
				t.Errorf("said\n%s", said)
			}
			if state, err := hub.Status(t.Context(), again); err != nil || len(state.Findings) > 0 {
				t.Errorf("status says %+v, %v", state.Findings, err)
			}
			must(t, hub.Install(t.Context(), Options{Version: "v1.1.0", Upgrade: true}))
			if got := row.value(s); got != row.want {
				t.Errorf("an upgrade made it %v, want %v", got, row.want)
			}
			must(t, hub.Install(t.Context(), Options{Version: "v1.1.0", Force: true}))
			if got := row.value(s); (got != row.want) != row.taken {
				t.Errorf("--force-conflicts made it %v, was %v", got, row.want)
			}
		})
	}
}

// TestAnUpgradeThatCannotFinishChangesNothing: conflicts are reported with their owners before anything is written.
func TestAnUpgradeThatCannotFinishChangesNothing(t *testing.T) {
	s, hub, said := ownedHub(t)
	patched(t, s, ofRole, "kubectl-edit", `{"rules":[]}`)
	patched(t, s, "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/local", "argocd",
		`{"spec":{"queueingStrategy":"BestEffortFIFO"}}`)
	n := len(s.Requests())
	before := s.Get(ofController)
	err := hub.Install(t.Context(), Options{Version: "v1.1.0", Upgrade: true})
	if err == nil {
		t.Fatal("it went on")
	}
	for _, want := range []string{"nothing was changed", `ClusterRole "bflow-nodes"`, "kubectl-edit",
		`ClusterQueue "local"`, "argocd", ".spec.queueingStrategy", "--force-conflicts"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	version := func(o map[string]any) any { return o["metadata"].(map[string]any)["resourceVersion"] }
	if now := s.Get(ofController); version(now) != version(before) {
		t.Error("the controller was changed")
	}
	if slices.ContainsFunc(s.Requests()[n:], func(q apitest.Request) bool { return q.Verb == "delete" }) {
		t.Errorf("something was deleted; said\n%s", said)
	}
	must(t, hub.Install(t.Context(), Options{Version: "v1.1.0", Upgrade: true, Force: true}))
}

// TestTakingOverTakesAll: whoever installed something before us owns every field of it; none of them was set by a
// person.
func TestTakingOverTakesAll(t *testing.T) {
	for _, row := range []struct {
		name        string
		s           survey
		part        string
		force, keep bool
	}{
		{"what is taken over now", survey{options: Options{Adopt: true}, adopted: []string{partKueue}}, partKueue, true,
			false},
		{"what is ours already", survey{options: Options{Adopt: true}}, partKueue, true, true},
		{"bflow itself", survey{options: Options{Adopt: true}}, partBflow, false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			if o := row.s.applyOptions(Part{Key: row.part}); o.Force != row.force || (o.Keep != nil) != row.keep {
				t.Errorf("got %+v", o)
			}
		})
	}
}
