package bootstrap

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/internal/apitest"
)

// bareServer is a cluster that serves every kind of an installation, with controllers that make every object work, and
// a hub on it.
func bareServer(t *testing.T) (*apitest.Server, *Hub, *strings.Builder) {
	t.Helper()
	s := apitest.New(t)
	identify(s)
	s.ServeRuns()
	all, err := render(Options{}, component.All(), detect.Found{}, Inventory{})
	must(t, err)
	for _, c := range all {
		for _, o := range c.Objects {
			s.Serve(o.GetAPIVersion(), o.GetKind(), o.GetNamespace() != "")
		}
	}
	s.Refuse(func(q apitest.Request) (int, string) {
		if q.Verb == "create" && q.Group == "tekton.dev" {
			return http.StatusConflict, "it is there" // the answer to a probe: the webhook answers
		}
		return 0, ""
	})
	refs := foreignImages(all)
	for _, version := range []string{"v1.0.0", "v1.1.0", "v2.0.0"} {
		ours, err := render(Options{Version: version}, component.All(), detect.Found{}, Inventory{})
		must(t, err)
		refs = append(refs, ownImages(ours)...)
	}
	s.Put("/api/v1/nodes/n", holding(refs...))
	works(t, s)
	var said strings.Builder
	hub, err := Connect(s.Config(), &said)
	must(t, err)
	return s, hub, &said
}

// holding is a node that has images with tags, so that no registry is asked for them.
func holding(refs ...string) apitest.Object {
	var images []any
	for _, ref := range refs {
		images = append(images, apitest.Object{"names": []any{ref}})
	}
	return apitest.Object{"status": apitest.Object{"images": images}}
}

// bench and lab are the namespaces of two teams on the same installation.
func twoTeams(t *testing.T) (*apitest.Server, *Hub, *strings.Builder) {
	t.Helper()
	s, hub, said := bareServer(t)
	must(t, hub.Install(t.Context(), Options{Version: "v1.0.0", Namespaces: []string{"bench"}}))
	must(t, hub.AddNamespace(t.Context(), NamespaceOptions{Name: "lab", Version: "v1.0.0"}))
	said.Reset()
	return s, hub, said
}

// writes returns the objects that were written after the first n requests.
func writes(s *apitest.Server, n int) []string {
	var out []string
	for _, q := range s.Requests()[n:] {
		if q.Verb != "get" && q.Verb != "list" && q.Verb != "watch" {
			out = append(out, q.Path)
		}
	}
	return out
}

func TestATeamComesAndGoes(t *testing.T) {
	s, hub, _ := bareServer(t)
	must(t, hub.Install(t.Context(), Options{Version: "v1.0.0", Namespaces: []string{"bench"}}))
	before, n := s.List("/"), len(s.Requests())
	must(t, hub.AddNamespace(t.Context(), NamespaceOptions{Name: "lab", Version: "v1.0.0"}))
	for _, path := range writes(s, n) {
		if !strings.Contains(path, "lab") && !strings.HasSuffix(path, "/bflow-inventory") &&
			!strings.HasSuffix(path, "/bflow-controller") {
			t.Errorf("%s was written, which is of no concern to the namespace", path)
		}
	}
	for _, path := range names(s, "/namespaces/bench/") {
		if !slices.Contains(names(s, "/namespaces/lab/"), path) {
			t.Errorf("%s is in the first namespace, and not in the other", path)
		}
	}
	state, err := hub.Status(t.Context(), Options{Version: "v1.0.0"})
	must(t, err)
	if len(state.Findings) > 0 || !slices.Equal(state.Namespaces, []string{"bench", "lab"}) {
		t.Errorf("status says %+v", state)
	}
	must(t, hub.AddNamespace(t.Context(), NamespaceOptions{Name: "lab", Version: "v1.0.0"})) // again
	must(t, hub.RemoveNamespace(t.Context(), NamespaceOptions{Name: "lab", Version: "v1.0.0"}))
	if after := s.List("/"); !slices.Equal(after, before) {
		t.Errorf("left %q, before %q", after, before)
	}
	if state, err = hub.Status(t.Context(), Options{Version: "v1.0.0"}); err != nil || len(state.Findings) > 0 ||
		!slices.Equal(state.Namespaces, []string{"bench"}) {
		t.Errorf("status says %+v, %v", state, err)
	}
}

// run adds a run to namespace lab, in the state that a row names.
func run(s *apitest.Server, name, status, succeeded string, finalizers ...any) string {
	path := "/apis/tekton.dev/v1/namespaces/lab/pipelineruns/" + name
	o := apitest.Object{"metadata": apitest.Object{"labels": apitest.Object{"bflow.dev/plan-hash": "h"},
		"finalizers": finalizers}, "spec": apitest.Object{"status": status}}
	if succeeded != "" {
		o["status"] = apitest.Object{"conditions": []any{apitest.Object{"type": "Succeeded", "status": succeeded}}}
	}
	s.Put(path, o)
	return path
}

func TestANamespaceIsNotRemovedFromUnderRuns(t *testing.T) {
	for _, row := range []struct {
		name string
		put  func(*apitest.Server) string
	}{
		{"one that is queued", func(s *apitest.Server) string { return run(s, "r", "PipelineRunPending", "Unknown") }},
		{"one that runs", func(s *apitest.Server) string { return run(s, "r", "", "Unknown", "bflow.dev/release") }},
		{"one that has ended and holds GPUs", func(s *apitest.Server) string {
			return run(s, "r", "", "True", "bflow.dev/release")
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, hub, _ := twoTeams(t)
			path := row.put(s)
			n := len(s.Requests())
			err := hub.RemoveNamespace(t.Context(), NamespaceOptions{Name: "lab", Version: "v1.0.0"})
			want := `removing namespace "lab": it has active runs: 1, r first; wait for them with --wait, or cancel them`
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			if got := writes(s, n); len(got) > 0 {
				t.Errorf("written although it was refused: %q", got)
			}
			go s.Change(path, func(o apitest.Object) {
				delete(o["metadata"].(apitest.Object), "finalizers")
				o["status"] = apitest.Object{"conditions": []any{apitest.Object{"type": "Succeeded", "status": "True"}}}
			})
			must(t, hub.RemoveNamespace(t.Context(), NamespaceOptions{Name: "lab", Version: "v1.0.0", Wait: longEnough,
				Data: true}))
			if s.Get("/api/v1/namespaces/lab") != nil {
				t.Error("the namespace is there")
			}
		})
	}
}

func TestWhatStaysWhenATeamGoes(t *testing.T) {
	s, hub, said := twoTeams(t)
	run(s, "r", "", "True")
	s.Put("/api/v1/namespaces/lab/secrets/theirs", apitest.Object{})
	must(t, hub.RemoveNamespace(t.Context(), NamespaceOptions{Name: "lab", Version: "v1.0.0"}))
	left := names(s, "/namespaces/lab/")
	if want := []string{"secrets/theirs", "serviceaccounts/bflow-load", "pipelineruns/r"}; !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
	labels, _, _ := unstructured.NestedStringMap(s.Get("/api/v1/namespaces/lab"), "metadata", "labels")
	if labels["bflow.dev/enabled"] != "" || labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Errorf("the namespace is marked %v", labels)
	}
	if !strings.Contains(said.String(), `stays: others have objects in it: Secret "theirs"; it holds data of runs`) {
		t.Errorf("said\n%s", said)
	}
	if state, err := hub.Status(t.Context(), Options{Version: "v1.0.0"}); err != nil || len(state.Findings) > 0 {
		t.Errorf("status says %+v, %v", state, err)
	}
	must(t, hub.AddNamespace(t.Context(), NamespaceOptions{Name: "lab", Version: "v1.0.0"})) // it comes back
	labels, _, _ = unstructured.NestedStringMap(s.Get("/api/v1/namespaces/lab"), "metadata", "labels")
	if labels["bflow.dev/enabled"] != "true" {
		t.Errorf("the namespace is marked %v", labels)
	}
}

// TestANamespaceThatATeamHadStays: it existed before, so it is theirs.
func TestANamespaceThatATeamHadStays(t *testing.T) {
	s, hub, _ := bareServer(t)
	must(t, hub.Install(t.Context(), Options{Version: "v1.0.0", Namespaces: []string{"bench"}}))
	s.Put("/api/v1/namespaces/lab", apitest.Object{})
	must(t, hub.AddNamespace(t.Context(), NamespaceOptions{Name: "lab", Version: "v1.0.0"}))
	must(t, hub.RemoveNamespace(t.Context(), NamespaceOptions{Name: "lab", Version: "v1.0.0"}))
	if got := names(s, "/namespaces/lab"); !slices.Equal(got, []string{""}) {
		t.Errorf("left %q", got)
	}
}

// TestASecondInstallationTakesNoNamespaceAway: to repeat bootstrap for one team, one need not know the others.
func TestASecondInstallationTakesNoNamespaceAway(t *testing.T) {
	s, hub, said := twoTeams(t)
	before := slices.Concat(names(s, "/namespaces/bench"), names(s, "/namespaces/lab"))
	must(t, hub.Install(t.Context(), Options{Version: "v1.0.0", Namespaces: []string{"more", "lab"}}))
	if after := slices.Concat(names(s, "/namespaces/bench"), names(s, "/namespaces/lab")); !slices.Equal(after, before) {
		t.Errorf("left %q, before %q", after, before)
	}
	state, err := hub.Status(t.Context(), Options{Version: "v1.0.0", Namespaces: []string{"bench"}})
	if err != nil || len(state.Findings) > 0 || !slices.Equal(state.Namespaces, []string{"bench", "lab", "more"}) {
		t.Errorf("status says %+v, %v", state, err)
	}
	want := "namespaces for runs are bench as before; remove one with bflow bootstrap namespace remove NAME"
	if !strings.Contains(said.String(), want) {
		t.Errorf("%q is not among\n%s", want, said)
	}
}

// TestAnInstallationAfterAnotherIsOfItsOwnNamespaces: results that an uninstallation has left do not make a namespace
// one of runs again.
func TestAnInstallationAfterAnotherIsOfItsOwnNamespaces(t *testing.T) {
	s, hub, _ := twoTeams(t)
	run(s, "r", "", "True")
	must(t, hub.Uninstall(t.Context(), UninstallOptions{}))
	must(t, hub.Install(t.Context(), Options{Version: "v1.0.0", Namespaces: []string{"more"}}))
	if state, err := hub.Status(t.Context(), Options{Version: "v1.0.0"}); err != nil ||
		!slices.Equal(state.Namespaces, []string{"more"}) {
		t.Errorf("status says %+v, %v", state, err)
	}
	if got := names(s, "/namespaces/lab/"); !slices.Equal(got, []string{"serviceaccounts/bflow-load", "pipelineruns/r"}) {
		t.Errorf("left of the results: %q", got)
	}
}

// TestANamespaceThatSomebodyHasDeletedIsForgotten: otherwise the next call of bootstrap would create it again.
func TestANamespaceThatSomebodyHasDeletedIsForgotten(t *testing.T) {
	s, hub, _ := twoTeams(t)
	for _, path := range s.List("/") {
		if strings.HasSuffix(path, "/namespaces/lab") || strings.Contains(path, "/namespaces/lab/") {
			s.Remove(path)
		}
	}
	s.Refuse(func(q apitest.Request) (int, string) {
		if q.Namespace == "lab" && (q.Verb == "create" || q.Verb == "patch") {
			return http.StatusNotFound, `namespaces "lab" not found`
		}
		return 0, ""
	})
	must(t, hub.RemoveNamespace(t.Context(), NamespaceOptions{Name: "lab", Version: "v1.0.0"}))
	if state, err := hub.Status(t.Context(), Options{Version: "v1.0.0"}); err != nil || len(state.Findings) > 0 ||
		!slices.Equal(state.Namespaces, []string{"bench"}) {
		t.Errorf("status says %+v, %v", state, err)
	}
}

func TestNamespacesThatCannotComeOrGo(t *testing.T) {
	s, hub, _ := twoTeams(t)
	s.Put("/api/v1/namespaces/taken/serviceaccounts/bflow-load", apitest.Object{})
	s.Put("/api/v1/namespaces/taken", apitest.Object{})
	o := func(name string) NamespaceOptions { return NamespaceOptions{Name: name, Version: "v1.0.0"} }
	for _, row := range []struct {
		name string
		err  error
		want string
	}{
		{"one that is none", hub.RemoveNamespace(t.Context(), o("other")),
			`it is not one of the namespaces for runs: bench, lab`},
		{"one where somebody has made what we make", hub.AddNamespace(t.Context(), o("taken")),
			`ServiceAccount "bflow-load" in "taken" exists and was not created by bflow`},
		{"another version", hub.AddNamespace(t.Context(), NamespaceOptions{Name: "x", Version: "v1.1.0"}),
			"bflow bootstrap upgrade"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.err == nil || !strings.Contains(row.err.Error(), row.want) {
				t.Errorf("got %v, want a sentence with %q", row.err, row.want)
			}
		})
	}
	must(t, hub.RemoveNamespace(t.Context(), o("lab")))
	if err := hub.RemoveNamespace(t.Context(), o("bench")); err == nil ||
		!strings.Contains(err.Error(), "bflow bootstrap uninstall") {
		t.Errorf("the only one: %v", err)
	}
	_, bare, _ := bareServer(t)
	if err := bare.AddNamespace(t.Context(), o("lab")); err == nil ||
		!strings.Contains(fmt.Sprint(err), "bflow is not installed here") {
		t.Errorf("a bare cluster: %v", err)
	}
}
