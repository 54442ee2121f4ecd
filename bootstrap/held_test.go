package bootstrap

import (
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
)

// aMatrix adds a matrix with a started run to namespace lab.
func aMatrix(s *apitest.Server) {
	of := func(kind, name string) []any { return []any{apitest.Object{"kind": kind, "name": name}} }
	labels := apitest.Object{"bflow.dev/role": "matrix"}
	s.Put("/apis/tekton.dev/v1/namespaces/lab/pipelineruns/m",
		apitest.Object{"metadata": apitest.Object{"labels": labels}})
	s.Put("/apis/tekton.dev/v1beta1/namespaces/lab/customruns/m-children", apitest.Object{"metadata": apitest.Object{
		"labels": labels, "finalizers": []any{"bflow.dev/matrix"}, "ownerReferences": of("PipelineRun", "m")}})
	s.Put("/apis/tekton.dev/v1/namespaces/lab/pipelineruns/m-00001", apitest.Object{"metadata": apitest.Object{
		"labels":     apitest.Object{"bflow.dev/plan-hash": "h", "bflow.dev/run": "m-00001", "bflow.dev/matrix": "m"},
		"finalizers": []any{"bflow.dev/release"}, "ownerReferences": of("CustomRun", "m-children")}})
}

// TestNobodyWaitsForAControllerThatIsGone: what it holds is reported at once, and nothing is changed.
func TestNobodyWaitsForAControllerThatIsGone(t *testing.T) {
	noReplicas := func(s *apitest.Server) {
		s.Change(ofController, func(o apitest.Object) { o["spec"].(apitest.Object)["replicas"] = 0 })
	}
	missing := func(s *apitest.Server) { s.Remove(ofController) }
	for _, row := range []struct {
		name string
		gone func(*apitest.Server)
		put  func(*apitest.Server)
		want string
	}{
		{"a run that has ended and holds GPUs", missing, func(s *apitest.Server) {
			run(s, "r", "", "True",
				"bflow.dev/release")
		}, "cannot be deleted: 1, r first; delete each with bflow delete --force --yes r -n lab"},
		{"a run that waits, with a Workload", noReplicas, func(s *apitest.Server) {
			run(s, "r", "PipelineRunPending",
				"Unknown")
		}, "cannot be deleted: 1, r first"},
		{"a matrix, which takes its runs with it", noReplicas, aMatrix,
			"cannot be deleted: 1, m first; delete each with bflow delete --force --yes m -n lab"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, hub, _ := twoTeams(t)
			s.Serve("tekton.dev/v1beta1", "CustomRun", true)
			row.put(s)
			row.gone(s)
			n := len(s.Requests())
			for what, err := range map[string]error{
				"uninstalling": hub.Uninstall(t.Context(), UninstallOptions{Data: true, Timeout: longEnough}),
				"removing a namespace": hub.RemoveNamespace(t.Context(),
					NamespaceOptions{Name: "lab", Version: "v1.0.0", Wait: longEnough}),
			} {
				if err == nil || !strings.Contains(err.Error(), "bflow-controller is not running") ||
					!strings.Contains(err.Error(), row.want) {
					t.Errorf("%s: got %v, want a sentence with %q", what, err, row.want)
				}
			}
			if got := writes(s, n); len(got) > 0 {
				t.Errorf("written although it was refused: %q", got)
			}
		})
	}
}

// TestAControllerThatGoesMeanwhileIsNotWaitedFor: the run was cancelled, and nobody reports its end.
func TestAControllerThatGoesMeanwhileIsNotWaitedFor(t *testing.T) {
	s, hub, _ := twoTeams(t)
	path := run(s, "r", "", "Unknown", "bflow.dev/release")
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		eventually.Happens(t.Context(),
			func() bool { return s.Get(path)["spec"].(apitest.Object)["status"] == "CancelledRunFinally" })
		s.Remove(ofController)
	}()
	err := hub.Uninstall(t.Context(), UninstallOptions{Timeout: time.Hour})
	if err == nil || !strings.HasPrefix(err.Error(), "ending runs: bflow-controller is not running") ||
		strings.Contains(err.Error(), "remove finalizer") {
		t.Errorf("got %v", err)
	}
	<-gone
}

// TestWithoutRunsNoControllerIsNeeded: an installation that was cut off, or removed in part, can be uninstalled.
func TestWithoutRunsNoControllerIsNeeded(t *testing.T) {
	s, hub, _ := twoTeams(t)
	run(s, "r", "", "True")
	s.Remove(ofController)
	must(t, hub.RemoveNamespace(t.Context(), NamespaceOptions{Name: "lab", Version: "v1.0.0", Data: true}))
	must(t, hub.Uninstall(t.Context(), UninstallOptions{Data: true}))
}
