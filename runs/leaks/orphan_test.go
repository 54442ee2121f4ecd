package leaks_test

import (
	"strings"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/leaks"

	"k8s.io/utils/clock"
)

// bonds is where tokens for Prometheus are bound.
const bonds = "/api/v1/namespaces/" + contract.NamespaceSystem + "/secrets/"

// orphan puts a run that no controller looks after on the hub of lab, which was let start on its target.
func orphan(hub, target *apitest.Server) leaks.Orphan {
	hub.Serve("tekton.dev/v1", "TaskRun", true)
	hub.Serve("kueue.x-k8s.io/v1beta2", "Workload", true)
	task := apitest.Object{"labels": apitest.Object{"tekton.dev/pipelineRun": "r"}}
	hub.Put("/apis/tekton.dev/v1/namespaces/bench/taskruns/r-load-gen-0", apitest.Object{"metadata": task})
	hub.Put("/api/v1/namespaces/bench/secrets/"+contract.TargetSecret("r"), apitest.Object{})
	hub.Put(bonds+contract.MetricsBond("u"), apitest.Object{})
	hub.Put(bonds+contract.MetricsBond("another"), apitest.Object{})
	hub.Put("/apis/kueue.x-k8s.io/v1beta2/namespaces/bench/workloads/of-r", apitest.Object{"metadata": apitest.Object{
		"finalizers":      []any{"kueue.x-k8s.io/resource-in-use", "example.com/other"},
		"ownerReferences": []any{apitest.Object{"kind": "PipelineRun", "name": "r"}}}})
	hub.Put("/apis/kueue.x-k8s.io/v1beta2/namespaces/bench/workloads/of-another",
		apitest.Object{"metadata": apitest.Object{
			"finalizers":      []any{"kueue.x-k8s.io/resource-in-use"},
			"ownerReferences": []any{apitest.Object{"kind": "PipelineRun", "name": "another"}}}})
	engine := func(hub, run string) apitest.Object {
		return apitest.Object{"metadata": apitest.Object{"labels": apitest.Object{contract.LabelHub: hub,
			contract.LabelRun: run, contract.LabelRelease: "x"}}}
	}
	target.Put("/apis/apps/v1/namespaces/bench/deployments/sim-r", engine("hub-a", "r"))
	target.Put("/apis/apps/v1/namespaces/bench/deployments/sim-of-another-hub", engine("hub-b", "r"))
	target.Put("/apis/apps/v1/namespaces/bench/deployments/sim-another", engine("hub-a", "another"))
	for _, uid := range []string{"u", "another"} {
		target.Put("/api/v1/namespaces/bench/secrets/"+contract.GrantSecret(uid), apitest.Object{})
	}
	return leaks.Orphan{Namespace: "bench", ID: "r", Target: "lab", Attempts: []string{"r"}, UIDs: []string{"u"},
		Metrics: true}
}

func TestAnOrphanIsTakenDownAndNothingElse(t *testing.T) {
	hub, target := lab(t)
	if unverified := leaks.TearDown(t.Context(), hub.Config(), orphan(hub, target),
		clock.RealClock{}); len(unverified) > 0 {
		t.Errorf("could not verify %q", unverified)
	}
	for _, path := range []string{"/apis/tekton.dev/v1/namespaces/bench/taskruns/", "/api/v1/namespaces/bench/secrets/"} {
		if left := hub.List(path); len(left) > 0 {
			t.Errorf("left on the hub: %q", left)
		}
	}
	if left := hub.List(bonds + "bflow-metrics-"); len(left) != 1 ||
		!strings.HasSuffix(left[0], contract.MetricsBond("another")) {
		t.Errorf("what tokens for Prometheus are bound to: %q", left)
	}
	if left := strings.Join(target.List("/apis/apps/v1/namespaces/bench/deployments/"), " "); !strings.HasSuffix(left,
		"sim-another /apis/apps/v1/namespaces/bench/deployments/sim-of-another-hub") {
		t.Errorf("left on the target: %s", left)
	}
	if left := target.List("/api/v1/namespaces/bench/secrets/"); len(left) != 1 ||
		!strings.HasSuffix(left[0], contract.GrantSecret("another")) {
		t.Errorf("what tokens are bound to there: %q", left)
	}
	for name, want := range map[string]int{"of-r": 1, "of-another": 1} {
		finalizers := hub.Get("/apis/kueue.x-k8s.io/v1beta2/namespaces/bench/workloads/" +
			name)["metadata"].(apitest.Object)["finalizers"].([]any)
		if len(finalizers) != want || name == "of-r" && finalizers[0] != "example.com/other" {
			t.Errorf("Workload %s is held by %q", name, finalizers)
		}
	}
}

func TestWhatCannotBeVerifiedOfAnOrphanIsSaid(t *testing.T) {
	for _, row := range []struct {
		name   string
		refuse func(apitest.Request) (int, string) // of the hub
		down   bool                                // of the target
		want   string
	}{
		{name: "the target is away", down: true, want: `all its objects on target "lab" are deleted`},
		{name: "the credentials of targets may not be read", refuse: forbid("secrets"),
			want: `all its objects on target "lab" are deleted: reading the credentials of targets`},
		{name: "tasks may not be read", refuse: forbid("taskruns"), want: "its tasks have ended"},
		{name: "Workloads may not be read", refuse: forbid("workloads"), want: "its quota is released"},
		{name: "the identity of the hub may not be read", refuse: forbid("namespaces"),
			want: "reading the identity of the hub"},
	} {
		t.Run(row.name, func(t *testing.T) {
			hub, target := lab(t)
			run := orphan(hub, target)
			hub.Refuse(row.refuse)
			target.Down(row.down)
			unverified := leaks.TearDown(t.Context(), hub.Config(), run, clock.RealClock{})
			if said := strings.Join(unverified, "\n"); !strings.Contains(said, row.want) ||
				strings.Contains(said, "secret-token") {
				t.Errorf("said %q, want %q in it", said, row.want)
			}
		})
	}
}
