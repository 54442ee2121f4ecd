package cluster_test

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runplan/literal"
	"bflow.dev/bflow/runs/cluster"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestSubmitMakesARunThatWaits(t *testing.T) {
	srv, c := newCluster(t)
	run := submit(t, c, compile.Options{})
	if run.ID != "demo-1" || run.Namespace != namespace {
		t.Errorf("run %s in %s", run.ID, run.Namespace)
	}
	pr := srv.Get(runsAt + "/demo-1")
	if status := pr["spec"].(apitest.Object)["status"]; status != "PipelineRunPending" {
		t.Errorf("status %v: it must wait", status)
	}
	labels := pr["metadata"].(apitest.Object)["labels"].(apitest.Object)
	if labels[contract.LabelRun] != nil || labels[contract.LabelAttempt] != nil || labels[contract.LabelQueue] != "local" {
		t.Errorf("labels %v: only the controller says whose devices are whose", labels)
	}
	cms := srv.List(mapsAt)
	if len(cms) != 1 {
		t.Fatalf("ConfigMaps %v", cms)
	}
	owners := srv.Get(cms[0])["metadata"].(apitest.Object)["ownerReferences"].([]any)
	if len(owners) != 1 || owners[0].(apitest.Object)["name"] != "demo-1" {
		t.Errorf("owners %v: the plan goes with its last run", owners)
	}
}

func TestARunThatAsksForMoreThanThereIsIsTold(t *testing.T) {
	srv, c := newCluster(t)
	run := submit(t, c, compile.Options{})
	srv.Serve("kueue.x-k8s.io/v1beta2", "ClusterQueue", false)
	runs := []*cluster.Run{run, run}
	pr := run.Last()
	pr.Annotations[contract.AnnotationRequests] = `{"bflow.dev/cluster-slot":"1","nvidia.com/gpu":"16"}`
	if got := c.TooBig(t.Context(), runs); len(got) > 0 {
		t.Errorf("the queue cannot be read: %q", got)
	}
	srv.Put(queueAt, apitest.Object{"spec": apitest.Object{"clusterQueue": "local"}})
	quota := func(gpus string) {
		srv.Put("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/local",
			apitest.Object{"spec": apitest.Object{"resourceGroups": []any{apitest.Object{
				"flavors": []any{apitest.Object{"name": "local", "resources": []any{
					apitest.Object{"name": "bflow.dev/cluster-slot", "nominalQuota": "100"},
					apitest.Object{"name": "nvidia.com/gpu", "nominalQuota": gpus}}}},
			}}}})
	}
	quota("8")
	want := `queue "local" has 8 nvidia.com/gpu in total, but the run requests 16; until the quota is raised, other ` +
		`runs may pass it`
	if got := c.TooBig(t.Context(), runs); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q once", got, want)
	}
	quota("16")
	if got := c.TooBig(t.Context(), runs); len(got) > 0 {
		t.Errorf("there are enough: %q", got)
	}
}

func TestRunsOfOnePlanShareIt(t *testing.T) {
	srv, c := newCluster(t)
	p := makePlan(t)
	if _, err := c.Submit(t.Context(), submission(compile.Options{}, p, p)); err != nil {
		t.Fatal(err)
	}
	cms := srv.List(mapsAt)
	if len(cms) != 1 || len(srv.List(runsAt)) != 2 {
		t.Fatalf("ConfigMaps %v, runs %v", cms, srv.List(runsAt))
	}
	if owners := srv.Get(cms[0])["metadata"].(apitest.Object)["ownerReferences"].([]any); len(owners) != 2 {
		t.Errorf("owners %v", owners)
	}
}

// TestALiteralCredentialGoesWithItsRunsWhereItMayBePatched: role bflow-user lets nobody patch Secrets. A run that had
// one to itself from the start would take it away from others, whose file holds the same credential.
func TestALiteralCredentialGoesWithItsRunsWhereItMayBePatched(t *testing.T) {
	const secretsAt = "/api/v1/namespaces/bench/secrets"
	for _, row := range []struct {
		name string
		may  bool
		want int
	}{
		{"with the right to patch Secrets", true, 2},
		{"without it", false, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			srv, c := newCluster(t)
			srv.Refuse(func(q apitest.Request) (int, string) {
				if q.Resource == "secrets" && q.Verb == "patch" && !row.may {
					return http.StatusForbidden, "secrets is forbidden"
				}
				return 0, ""
			})
			p := *makePlan(t)
			p.Measurements = slices.Clone(p.Measurements)
			p.Measurements[0].API.APIKeySecret = &runplan.SecretKey{Name: contract.SecretLiteral + "0123456789ab", Key: "key"}
			if err := runplan.Identify(&p); err != nil {
				t.Fatal(err)
			}
			sub := submission(compile.Options{}, &p, &p)
			sub.Secrets = []literal.Secret{{Name: contract.SecretLiteral + "0123456789ab", Key: "key", Value: "s3cret"}}
			if _, err := c.Submit(t.Context(), sub); err != nil {
				t.Fatal(err)
			}
			made := srv.List(secretsAt + "/")
			if len(made) != 1 {
				t.Fatalf("Secrets %v", made)
			}
			owners, _ := srv.Get(made[0])["metadata"].(apitest.Object)["ownerReferences"].([]any)
			if len(owners) != row.want {
				t.Errorf("owners %v, want %d", owners, row.want)
			}
		})
	}
}

// TestAWebhookThatDoesNotAnswerIsAskedAgain: nothing was made, so nothing is made twice.
func TestAWebhookThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	srv, c := newCluster(t)
	var asked atomic.Int32
	srv.Refuse(func(q apitest.Request) (int, string) {
		if q.Verb == "create" && q.Path == runsAt && asked.Add(1) <= 2 {
			return http.StatusInternalServerError,
				`Internal error occurred: failed calling webhook "webhook.pipeline.tekton.dev": failed to call webhook: ` +
					`Post "https://tekton-pipelines-webhook.tekton-pipelines.svc:443/defaulting?timeout=10s": context deadline ` +
					`exceeded`
		}
		return 0, ""
	})
	runs, err := c.Submit(t.Context(), submission(compile.Options{}, makePlan(t)))
	if err != nil || len(runs) != 1 || len(srv.List(runsAt+"/")) != 1 {
		t.Errorf("%v, there are %v", err, srv.List(runsAt+"/"))
	}
}

func TestARefusalLeavesNothing(t *testing.T) {
	srv, c := newCluster(t)
	srv.Refuse(func(q apitest.Request) (int, string) {
		if q.Verb == "create" && q.Path == runsAt {
			return http.StatusBadRequest, `admission webhook "validation.webhook.pipeline.tekton.dev" denied the request: no`
		}
		return 0, ""
	})
	_, err := c.Submit(t.Context(), submission(compile.Options{}, makePlan(t)))
	wants(t, err, "checking run demo-1: no")
	if strings.Contains(err.Error(), "webhook") || !apierrors.IsBadRequest(err) {
		t.Errorf("%v: it speaks of its webhook, or is no answer of the server any more", err)
	}
	for _, path := range []string{mapsAt, runsAt, "/apis/tekton.dev/v1/namespaces/bench/tasks",
		"/apis/tekton.dev/v1/namespaces/bench/pipelines"} {
		if left := srv.List(path + "/"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestSubmitSaysWhatIsMissing(t *testing.T) {
	tests := []struct {
		name    string
		cluster func(*apitest.Server)
		o       compile.Options
		into    string // the namespace, "" = that of the plan
		want    []string
	}{
		{name: "Tekton", cluster: func(s *apitest.Server) { s.Unserve("tekton.dev") },
			want: []string{"Tekton is not installed on cluster hub; run bflow bootstrap --single-cluster"}},
		{name: "Kueue", cluster: func(s *apitest.Server) { s.Unserve("kueue") },
			want: []string{"Kueue is not installed on cluster hub", "--no-queue"}},
		{name: "the queue", cluster: func(s *apitest.Server) { s.Remove(queueAt) },
			want: []string{`there is no queue "local" in namespace bench`, "bflow bootstrap namespace add bench", "--no-queue"}},
		{name: "the namespace", cluster: func(*apitest.Server) {}, into: "nowhere", o: compile.Options{NoQueue: true},
			want: []string{"cluster hub has no such namespace", "bflow bootstrap namespace add nowhere"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv, c := newCluster(t)
			tt.cluster(srv)
			plan := makePlan(t)
			plan.Target.Namespace = cmp.Or(tt.into, plan.Target.Namespace)
			_, err := c.Submit(t.Context(), submission(tt.o, plan))
			wants(t, err, tt.want...)
		})
	}
}

func TestAgainIsWhatWasAskedForAndNothingOfWhatBecameOfIt(t *testing.T) {
	srv, c := newCluster(t)
	run := submit(t, c, compile.Options{})
	srv.Change(runsAt+"/demo-1", func(o apitest.Object) {
		meta := o["metadata"].(apitest.Object)
		meta["annotations"].(apitest.Object)[contract.AnnotationReleased] = "2026-01-01T00:00:00Z"
		meta["labels"].(apitest.Object)["tekton.dev/pipeline"] = "p"
		meta["labels"].(apitest.Object)[contract.LabelRun], meta["labels"].(apitest.Object)[contract.LabelAttempt] = "demo-1",
			"1"
		meta["finalizers"] = []any{contract.Finalizer}
		delete(o["spec"].(apitest.Object), "status")
	})
	run, err := c.Find(t.Context(), run.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Again(t.Context(), run, func(base string) string { return base + "-2" }); err != nil {
		t.Fatal(err)
	}
	pr := srv.Get(runsAt + "/demo-1-2")
	meta := pr["metadata"].(apitest.Object)
	labels := meta["labels"].(apitest.Object)
	if labels[contract.LabelRun] != nil || labels[contract.LabelAttempt] != nil || labels["tekton.dev/pipeline"] != nil ||
		meta["finalizers"] != nil ||
		meta["annotations"].(apitest.Object)[contract.AnnotationReleased] != nil {
		t.Errorf("metadata %v", meta)
	}
	if status := pr["spec"].(apitest.Object)["status"]; status != "PipelineRunPending" {
		t.Errorf("status %v: it must wait as the first one did", status)
	}
	if owners := srv.Get(srv.List(mapsAt)[0])["metadata"].(apitest.Object)["ownerReferences"].([]any); len(owners) != 2 {
		t.Errorf("owners %v", owners)
	}
}
