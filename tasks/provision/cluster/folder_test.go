package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/runplan/contract"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// folder is what a step finds of its target.
func folder(t *testing.T, s *apitest.Server, more map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"token": "t",
		"kubeconfig": fmt.Sprintf(
			`{"apiVersion":"v1","kind":"Config","current-context":"x","clusters":[{"name":"x","cluster":{"server":%q}}],`+
				`"contexts":[{"name":"x","context":{"cluster":"x","user":"x"}}],"users":[{"name":"x",`+
				`"user":{"tokenFile":"token"}}]}`, s.URL),
	}
	for name, text := range more {
		files[name] = text
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestATargetSaysWhereTasksRun(t *testing.T) {
	s := apitest.New(t, "bench")
	putPod(s, "a")
	dir := folder(t, s, map[string]string{contract.KeyLoadNodes: "pool=load,zone=a\n", contract.KeyNodes: "pool=gpu"})
	c, err := Connect([]string{"", dir}, "lab", "bench", os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	found, err := all[corev1.Pod](t.Context(), c, pods, "app=x")
	if err != nil || len(found) != 1 || c.Local {
		t.Errorf("%d pods, %v", len(found), err)
	}
	if diff := cmp.Diff([]map[string]string{{"pool": "load", "zone": "a"}, {"pool": "gpu"}},
		[]map[string]string{c.Nodes, c.Part}); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

func TestWhatIsSaidOfATargetIsChecked(t *testing.T) {
	s := apitest.New(t, "bench")
	_, err := Connect([]string{folder(t, s, map[string]string{contract.KeyLoadNodes: "pool"})}, "lab", "bench", os.Getenv)
	if err == nil || !strings.Contains(err.Error(), "reading node selector") ||
		!strings.Contains(err.Error(), `target "lab"`) {
		t.Errorf("a word alone: %v", err)
	}
	if c, err := Connect([]string{folder(t, s, map[string]string{contract.KeyLoadNodes: "\n"})}, "lab", "bench",
		os.Getenv); err != nil || c.Nodes != nil {
		t.Errorf("nothing is said: %v, %v", c, err)
	}
}

// TestWhetherATaskRunGoesOn decides what a step leaves behind that is told to end.
func TestWhetherATaskRunGoesOn(t *testing.T) {
	s := apitest.New(t, "bench")
	s.ServeRuns()
	c := connect(t, s)
	if _, err := c.TaskRunGoesOn(t.Context(), "x"); err == nil {
		t.Error("one that is not there")
	}
	condition := func(status string) apitest.Object {
		return apitest.Object{"conditions": []any{apitest.Object{"type": "Succeeded", "status": status}}}
	}
	for _, row := range []struct {
		name string
		tr   apitest.Object
		want bool
	}{
		{"one that has just begun", apitest.Object{}, true},
		{"one that runs", apitest.Object{"status": condition("Unknown")}, true},
		{"one that is cancelled", apitest.Object{"spec": apitest.Object{"status": "TaskRunCancelled"},
			"status": condition("Unknown")}, false},
		{"one that is over its time", apitest.Object{"status": condition("False")}, false},
		{"one whose time is just over", apitest.Object{"spec": apitest.Object{"timeout": "1h0m0s"},
			"status": apitest.Object{"startTime": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)}}, false},
		{"one that has time", apitest.Object{"spec": apitest.Object{"timeout": "1h0m0s"},
			"status": apitest.Object{"startTime": time.Now().UTC().Format(time.RFC3339)}}, true},
		{"one that is deleted", apitest.Object{"metadata": apitest.Object{"deletionTimestamp": "2026-01-01T00:00:00Z",
			"finalizers": []any{"x"}}}, false},
	} {
		s.Put("/apis/tekton.dev/v1/namespaces/bench/taskruns/x", row.tr)
		if got, err := c.TaskRunGoesOn(t.Context(), "x"); err != nil || got != row.want {
			t.Errorf("%s: %v, %v", row.name, got, err)
		}
	}
}

func TestWhyAJobHasNoPod(t *testing.T) {
	s := apitest.New(t, "bench")
	at := "/api/v1/namespaces/bench/events/"
	s.Put(at+"a", apitest.Object{"type": "Warning", "reason": "FailedCreate", "message": "exceeded quota: cpu",
		"involvedObject": apitest.Object{"name": "j"}, "lastTimestamp": "2026-01-01T00:00:02Z"})
	s.Put(at+"b", apitest.Object{"type": "Warning", "reason": "Old", "message": "x",
		"involvedObject": apitest.Object{"name": "j"}, "lastTimestamp": "2026-01-01T00:00:01Z"})
	s.Put(at+"c", apitest.Object{"type": "Normal", "reason": "Resumed", "message": "x",
		"involvedObject": apitest.Object{"name": "j"}, "lastTimestamp": "2026-01-01T00:00:03Z"})
	if got := connect(t, s).WhyNoPod(t.Context(), "j"); got != "FailedCreate: exceeded quota: cpu" {
		t.Errorf("got %q", got)
	}
}
