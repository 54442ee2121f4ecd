package kube_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

const two = `
apiVersion: v1
kind: Config
current-context: near
contexts:
- {name: near, context: {cluster: near, user: me, namespace: bench}}
- {name: far, context: {cluster: far, user: me}}
- {name: open, context: {cluster: open, user: me}}
clusters:
- {name: near, cluster: {server: "https://near.example"}}
- {name: far, cluster: {server: "https://far.example"}}
- {name: open, cluster: {server: "https://me:s3cret@open.example"}}
users: [{name: me, user: {token: t}}]
`

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAContextSaysWhichClusterIsMeant(t *testing.T) {
	file := write(t, two)
	for context, want := range map[string][3]string{
		"":    {"https://near.example", "bench", "near"},
		"far": {"https://far.example", "default", "far"},
	} {
		s := kube.Source{File: file, Context: context, Flag: "--kubeconfig"}
		cfg, namespace, err := s.Read()
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]string{cfg.Host, namespace, s.ContextName()}; got != want {
			t.Errorf("context %q: got %q, want %q", context, got, want)
		}
		if cfg.UserAgent != "bflow/"+step.Version {
			t.Errorf("it calls itself %q", cfg.UserAgent)
		}
	}
	if got := (kube.Source{File: file}).Contexts(); !slices.Equal(got, []string{"far", "near", "open"}) {
		t.Errorf("contexts %q", got)
	}
}

func TestAWayThatIsNoneIsAnErrorOfUsage(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	file := write(t, two)
	for _, row := range []struct {
		source kube.Source
		says   string
	}{
		{kube.Source{Flag: "--hub-kubeconfig"}, "there is none; name one with --hub-kubeconfig or KUBECONFIG"},
		{kube.Source{File: "/no/such/file", Flag: "--kubeconfig"}, "/no/such/file"},
		{kube.Source{File: file, Context: "nowhere"}, `context "nowhere" does not exist`},
		{kube.Source{File: file, Context: "open"}, "the server's address contains a credential"},
	} {
		_, _, err := row.source.Read()
		if err == nil || !strings.Contains(err.Error(), row.says) || step.Code(err) != contract.ExitUsage {
			t.Errorf("%+v: %v, exit code %d", row.source, err, step.Code(err))
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("it shows the credential: %v", err)
		}
	}
}

func TestAnEndpointIsThatOfItsContext(t *testing.T) {
	file := write(t, two)
	for context, want := range map[string][2]string{
		"": {"https://near.example", "near"}, "far": {"https://far.example", "far"},
	} {
		endpoint, name, err := kube.Source{File: file, Context: context}.Endpoint()
		if got := [2]string{endpoint.Server, name}; err != nil || got != want {
			t.Errorf("context %q: got %q, %v, want %q", context, got, err, want)
		}
	}
	_, _, err := kube.Source{File: file, Context: "prod"}.Endpoint()
	const want = `has no context "prod"; it has far, near, open, choose with --context`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

func TestMostLaptopsKnowNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if (kube.Source{}).IsKnown() {
		t.Error("a cluster is known where nothing names one")
	}
	for _, s := range []kube.Source{{File: "f"}, {Context: "c"}} {
		if !s.IsKnown() {
			t.Errorf("%+v names none", s)
		}
	}
	t.Setenv("KUBECONFIG", "f")
	if !(kube.Source{}).IsKnown() {
		t.Error("KUBECONFIG names none")
	}
}

func TestAPodHasTheTokenOfAMountedSecret(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	if _, err := kube.InPod(dir); !errors.Is(err, kube.ErrNoToken) {
		t.Errorf("without a token: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := kube.InPod(dir)
	if err != nil || cfg.Host != "https://10.0.0.1:443" || cfg.BearerTokenFile != filepath.Join(dir, "token") {
		t.Errorf("%v, %v", cfg, err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := kube.InPod(dir); !errors.Is(err, kube.ErrNoToken) {
		t.Errorf("outside of a pod: %v", err)
	}
}
