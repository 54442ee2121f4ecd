package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/runplan/contract"
)

// TestASubmissionThatIsInterruptedExitsAsSuch: what the API server was asked when the signal came is an error of the
// network with that reason, which must keep its type on its way up.
func TestASubmissionThatIsInterruptedExitsAsSuch(t *testing.T) {
	srv := apitest.New(t, "bench")
	srv.ServeRuns()
	srv.Put("/apis/kueue.x-k8s.io/v1beta2/namespaces/bench/localqueues/local", map[string]any{})
	dir := t.TempDir()
	path, err := srv.Kubeconfig(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
	file := filepath.Join(dir, "small.yaml")
	if err := os.WriteFile(file, []byte(smallExperiment), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	srv.Refuse(func(q apitest.Request) (int, string) {
		if q.Verb == "create" {
			cancel()
		}
		return 0, ""
	})
	var out, said strings.Builder
	if code := Main(ctx, Streams{In: strings.NewReader(""), Out: &out, Err: &said},
		[]string{"bflow", "run", file}); code != contract.ExitInterrupted {
		t.Errorf("exit code %d, want %d; it says %q", code, contract.ExitInterrupted, said.String())
	}
	if strings.Contains(said.String(), "does not answer") {
		t.Errorf("it blames the cluster: %q", said.String())
	}
}
