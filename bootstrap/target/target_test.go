package target_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/bootstrap/target"
	"bflow.dev/bflow/internal/apitest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// bare is a cluster with nothing of ours.
func bare(t *testing.T) (*apitest.Server, string) {
	t.Helper()
	s := apitest.New(t, "kube-system", "default")
	for _, kind := range []string{"Role", "RoleBinding"} {
		s.Serve("rbac.authorization.k8s.io/v1", kind, true)
	}
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding"} {
		s.Serve("rbac.authorization.k8s.io/v1", kind, false)
	}
	path, err := s.Kubeconfig(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s, path
}

func open(t *testing.T, path string) *target.Cluster {
	t.Helper()
	c, err := target.Open(path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func made(hub string, namespaces ...string) func([]string) ([]*unstructured.Unstructured, error) {
	return func(more []string) ([]*unstructured.Unstructured, error) {
		return objects.Target{Name: "far", Namespaces: append(namespaces, more...), Hub: hub, Version: "v1"}.Objects()
	}
}

func prepare(t *testing.T, path, hub string, namespaces ...string) target.Result {
	t.Helper()
	all, err := made(hub, namespaces...)(nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := open(t, path).Prepare(t.Context(), all, hub, "far", false, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func ours(s *apitest.Server) []string {
	return slices.DeleteFunc(s.List("/"), func(path string) bool {
		return !strings.Contains(path, "bflow") &&
			!strings.Contains(path, "bench")
	})
}

func TestATargetIsMadeOnceAndRemovedWhole(t *testing.T) {
	s, path := bare(t)
	before := s.List("/")
	first := prepare(t, path, "hub-a", "bench")
	if first.Created != first.Objects || first.Objects < 15 {
		t.Errorf("the first time: %+v", first)
	}
	if again := prepare(t, path, "hub-a", "bench"); again.Created+again.Changed > 0 {
		t.Errorf("the second time: %+v", again)
	}
	for _, p := range ours(s) {
		labels, _, _ := unstructured.NestedStringMap(s.Get(p), "metadata", "labels")
		if labels["bflow.dev/hub"] != "hub-a" {
			t.Errorf("%s has labels %v", p, labels)
		}
	}
	c := open(t, path)
	found, err := c.Look(t.Context())
	if err != nil || found.UID == "" || found.Version != "v1.34.4" || found.Hubs["hub-a"] != "far" {
		t.Errorf("found %+v: %v", found, err)
	}
	token, expires, err := c.Token(t.Context(), time.Hour)
	if err != nil || !strings.HasPrefix(token, "token-bflow-system-bflow-agent-") ||
		expires.Before(time.Now().Add(50*time.Minute)) {
		t.Errorf("token %q until %s: %v", token, expires, err)
	}
	if err := c.Remove(t.Context(), made("hub-a"), "hub-a", func(text string) { t.Errorf("said %q", text) }); err != nil {
		t.Fatal(err)
	}
	if left := s.List("/"); !slices.Equal(left, before) {
		t.Errorf("left: %q", left)
	}
}

// TestTwoHubsShareATarget: what the other hub uses stays, and is deleted with the last.
func TestTwoHubsShareATarget(t *testing.T) {
	s, path := bare(t)
	prepare(t, path, "hub-a", "bench")
	prepare(t, path, "hub-b", "bench", "lab")
	all := ours(s)
	var said []string
	remove := func(hub string) {
		t.Helper()
		if err := open(t, path).Remove(t.Context(), made(hub), hub,
			func(text string) { said = append(said, text) }); err != nil {
			t.Fatal(err)
		}
	}
	remove("hub-a")
	if left := ours(s); !slices.Equal(left, all) {
		t.Errorf("of %q only %q is left for the other hub", all, left)
	}
	if want := []string{`Namespace "bench" stays: another hub needs it`,
		`Namespace "bflow-system" stays: another hub needs it`}; !slices.Equal(said, want) {
		t.Errorf("said %q", said)
	}
	remove("hub-b")
	if left := ours(s); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	said = nil
	remove("hub-b")
	if !slices.Equal(said, []string{"the target has nothing of this hub"}) {
		t.Errorf("said %q", said)
	}
}

func TestWhatWasThereBefore(t *testing.T) {
	s, path := bare(t)
	s.Put("/api/v1/namespaces/bench", apitest.Object{"metadata": apitest.Object{
		"labels": apitest.Object{"pod-security.kubernetes.io/enforce": "privileged"}}})
	prepare(t, path, "hub-a", "bench", "lab")
	labels, _, _ := unstructured.NestedStringMap(s.Get("/api/v1/namespaces/bench"), "metadata", "labels")
	if labels["pod-security.kubernetes.io/enforce"] != "privileged" {
		t.Errorf("its rules for pods were changed: %v", labels)
	}
	s.Put("/api/v1/namespaces/lab/persistentvolumeclaims/models", apitest.Object{})
	var said []string
	if err := open(t, path).Remove(t.Context(), made("hub-a"), "hub-a",
		func(text string) { said = append(said, text) }); err != nil {
		t.Fatal(err)
	}
	want := []string{`Namespace "bench" stays: it was there before bflow`,
		`Namespace "lab" stays: others have objects in it: PersistentVolumeClaim "models"`}
	if !slices.Equal(said, want) {
		t.Errorf("said %q", said)
	}
	if s.Get("/apis/rbac.authorization.k8s.io/v1/namespaces/lab/roles/bflow-target-runner") != nil {
		t.Error("rights are left in a namespace that stays")
	}
}

// TestANamespaceGoesOnlyWithNothingOfOthersInIt: everything else in it belongs to Kubernetes or to this hub.
func TestANamespaceGoesOnlyWithNothingOfOthersInIt(t *testing.T) {
	const held = "others have objects in it: "
	for _, row := range []struct{ name, object, stays, why string }{
		{"a Secret of others among the runs", "apiVersion: v1\nkind: Secret\nmetadata: {name: theirs, namespace: bench}",
			"bench", held + `Secret "theirs"`},
		{"a Secret beside the hub's account",
			"apiVersion: v1\nkind: Secret\nmetadata: {name: theirs, namespace: bflow-system}",
			"bflow-system", held + `Secret "theirs"`},
		{"an object of a kind that nobody has heard of",
			"apiVersion: example.com/v7\nkind: Widget\nmetadata: {name: theirs, namespace: bench}",
			"bench", held + `Widget "theirs"`},
		{"a Deployment of others, named rather than its pod", `apiVersion: apps/v1
kind: Deployment
metadata: {name: theirs, namespace: bench, uid: d}
---
apiVersion: v1
kind: Pod
metadata: {name: theirs-1, namespace: bench, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: theirs, uid: d}]}`,
			"bench", held + `Deployment "theirs"`},
		{"what bootstrap made, where the target is a hub of its own", "apiVersion: v1\nkind: ConfigMap\n" +
			"metadata: {name: bflow-hub, namespace: bench, labels: {app.kubernetes.io/managed-by: bflow, bflow.dev/part: " +
			"bflow}}", "bench", held + `ConfigMap "bflow-hub"`},
		{"a run of a hub of its own",
			"apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata: {name: r, namespace: bench, labels: " +
				"{bflow.dev/plan-hash: h}}",
			"bench", held + `PipelineRun "r"`},
		{"a pod that a run of this hub has left",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: bench, labels: {bflow.dev/run: r, bflow.dev/hub: hub-a}}",
			"bench", `it holds data of runs: Pod "p"`},
		{"a volume that a run of this hub has left",
			"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: p, namespace: bench, labels: {bflow.dev/run: r, " +
				"bflow.dev/hub: hub-a}}", "bench",
			`it holds data of runs: PersistentVolumeClaim "p"`},
		{"what Kubernetes keeps everywhere", `apiVersion: v1
kind: ConfigMap
metadata: {name: kube-root-ca.crt, namespace: bench}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: bench}
---
apiVersion: v1
kind: Event
metadata: {name: e, namespace: bench}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: bflow-platform, namespace: bflow-system}`, "", ""},
		{"what a run of this hub has left, without data", `apiVersion: v1
kind: Secret
metadata: {name: bflow-grant-u, namespace: bench, labels: {bflow.dev/hub: hub-a}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: of-r, namespace: bench, labels: {bflow.dev/run: r, bflow.dev/hub: hub-a}}`, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, path := bare(t)
			prepare(t, path, "hub-a", "bench")
			s.Add(t, row.object)
			var said []string
			if err := open(t, path).Remove(t.Context(), made("hub-a"), "hub-a",
				func(text string) { said = append(said, text) }); err != nil {
				t.Fatal(err)
			}
			var want []string
			if row.stays != "" {
				want = []string{fmt.Sprintf("Namespace %q stays: %s", row.stays, row.why)}
			}
			if !slices.Equal(said, want) {
				t.Errorf("said %q, want %q", said, want)
			}
			for _, name := range []string{"bench", "bflow-system"} {
				if there := s.Get("/api/v1/namespaces/"+name) != nil; there != (name == row.stays) {
					t.Errorf("namespace %q is there: %t", name, there)
				}
			}
		})
	}
}

func TestANamespaceThatCannotBeLookedIntoStays(t *testing.T) {
	s, path := bare(t)
	prepare(t, path, "hub-a", "bench")
	s.Serve("example.com/v1", "Widget", true)
	broken := func(code int) {
		s.Refuse(func(q apitest.Request) (int, string) {
			if q.Resource == "widgets" {
				return code, "no " + q.String()
			}
			return 0, ""
		})
	}
	var said []string
	remove := func() error {
		return open(t, path).Remove(t.Context(), made("hub-a"), "hub-a", func(text string) { said = append(said, text) })
	}
	broken(http.StatusForbidden)
	if err := remove(); err == nil || !strings.Contains(err.Error(),
		"use the kubeconfig of an administrator of that cluster") || len(said) > 0 {
		t.Errorf("where it is forbidden: %v; said %q", err, said)
	}
	broken(http.StatusServiceUnavailable)
	if err := remove(); err != nil {
		t.Errorf("where it is broken: %v", err)
	}
	for _, name := range []string{"bench", "bflow-system"} {
		want := fmt.Sprintf("Namespace %q stays: looking into namespace %q: listing widgets.example.com", name, name)
		if s.Get("/api/v1/namespaces/"+name) == nil || !slices.ContainsFunc(said,
			func(text string) bool { return strings.HasPrefix(text, want) }) {
			t.Errorf("%q is not among %q", want, said)
		}
	}
}

func TestADryRunChangesNothing(t *testing.T) {
	s, path := bare(t)
	before := s.List("/")
	all, err := made("hub-a", "bench")(nil)
	if err != nil {
		t.Fatal(err)
	}
	var diff strings.Builder
	if _, err := open(t, path).Prepare(t.Context(), all, "hub-a", "far", true, &diff); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before, s.List("/")) || !strings.Contains(diff.String(), "bflow-target-runner") {
		t.Errorf("left %q, said\n%s", s.List("/"), diff.String())
	}
}

func TestSentences(t *testing.T) {
	s, path := bare(t)
	dead, gone := bare(t)
	dead.Close()
	look := func(file, name string) error {
		c, err := target.Open(file, name, nil)
		if err == nil {
			_, err = c.Look(t.Context())
		}
		return err
	}
	none := filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(none, []byte(`{"apiVersion":"v1","kind":"Config"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Authenticate(func(token string) bool { return token == "t" })
	for _, row := range []struct {
		name string
		err  func() error
		want string
	}{
		{"another context than there is", func() error { return look(path, "prod") },
			`has no context "prod"; it has hub, choose with --context`},
		{"a file that is not there", func() error { return look(filepath.Join(t.TempDir(), "x"), "") }, "no such file"},
		{"a file without anything", func() error { return look(none, "") }, `has no context ""`},
		{"a cluster that is away", func() error { return look(gone, "") }, "use --host-alias NAME=IP"},
		{"credentials that are not taken", func() error {
			s.Authenticate(func(string) bool { return false })
			defer s.Authenticate(nil)
			return look(path, "")
		}, "log in again, or choose another --context"},
		{"somebody who may not", func() error {
			s.Refuse(func(r apitest.Request) (int, string) {
				if r.Verb == "patch" {
					return http.StatusForbidden, "may not"
				}
				return 0, ""
			})
			defer s.Refuse(nil)
			all, err := made("hub-a", "bench")(nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = open(t, path).Prepare(t.Context(), all, "hub-a", "far", false, io.Discard)
			return err
		}, "use the kubeconfig of an administrator of that cluster"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if err := row.err(); err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one sentence with %q", err, row.want)
			}
		})
	}
}

func TestAnAliasIsEnough(t *testing.T) {
	s, path := bare(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "127.0.0.1", "api.far.example", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	c, err := target.Open(path, "", map[string]string{"api.far.example": "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Look(t.Context()); err != nil {
		t.Error(err)
	}
	kubeconfig, _, err := c.Kubeconfig()
	if err != nil || !strings.Contains(string(kubeconfig), s.URL) ||
		!strings.Contains(string(kubeconfig), "tls-server-name: api.far.example") {
		t.Errorf("%v\n%s", err, kubeconfig)
	}
}

// TestAPasswordOfTheProxyIsRefusedFirst: nothing is created on the target before.
func TestAPasswordOfTheProxyIsRefusedFirst(t *testing.T) {
	s, path := bare(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), `"cluster":{`, `"cluster":{"proxy-url":"http://me:s3cret@proxy:3128",`, 1))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = target.Open(path, "", nil)
	if err == nil || !strings.Contains(err.Error(), "proxy-url http://proxy:3128 holds a credential") ||
		strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
	if left := ours(s); len(left) > 0 {
		t.Errorf("made: %q", left)
	}
}
