package cluster_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/cluster"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
)

// makeParent puts a PipelineRun on the server that submits for somebody.
func makeParent(t *testing.T, srv *apitest.Server, c *cluster.Cluster) *cluster.Parent {
	t.Helper()
	srv.Put(runsAt+"/start", apitest.Object{"spec": apitest.Object{
		"params": []any{apitest.Object{"name": "wait", "value": "false"}}},
		"status": apitest.Object{"pipelineSpec": apitest.Object{
			"params": []any{apitest.Object{"name": "wait", "default": "true"},
				apitest.Object{"name": "path", "default": "p"}}}}})
	p, err := c.Parent(t.Context(), namespace, "start")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAParentsParamsAreThoseGivenAndThoseOfItsPipeline(t *testing.T) {
	srv, c := newCluster(t)
	p := makeParent(t, srv, c)
	if p.Params["wait"] != "false" || p.Params["path"] != "p" || p.UID == "" {
		t.Errorf("got %+v", p)
	}
}

func TestARunOfAnotherIsNotTaken(t *testing.T) {
	srv, c := newCluster(t)
	p := makeParent(t, srv, c)
	srv.Put(runsAt+"/demo-1", makeRun("demo-1"))
	sub := submission(compile.Options{}, makePlan(t))
	sub.Parent = p
	_, err := c.Submit(t.Context(), sub)
	wants(t, err, "submitting run demo-1", "already exists")
}

func TestEveryAttemptOfAParentsRunsIsCancelled(t *testing.T) {
	srv, c := newCluster(t)
	p := makeParent(t, srv, c)
	of := func(name string) func(*tektonv1.PipelineRun) {
		return func(pr *tektonv1.PipelineRun) {
			pr.Labels[contract.LabelParent], pr.Labels[contract.LabelRun] = "start", name
		}
	}
	srv.Put(runsAt+"/a", makeRun("a", of("a"), condition(corev1.ConditionFalse, "Cancelled", "")))
	srv.Put(runsAt+"/a-a2", makeRun("a-a2", of("a"), pending,
		func(pr *tektonv1.PipelineRun) { pr.Labels[contract.LabelAttempt] = "2" }))
	srv.Put(runsAt+"/over", makeRun("over", of("over"), condition(corev1.ConditionTrue, "Succeeded", "")))
	srv.Put(runsAt+"/other", makeRun("other", pending))
	failures := 2 // the server is away at first
	srv.Refuse(func(q apitest.Request) (int, string) {
		if q.Verb == "patch" && failures > 0 {
			failures--
			return http.StatusServiceUnavailable, "in a moment"
		}
		return 0, ""
	})
	met, err := p.CancelChildren(eventually.Context(t))
	if err != nil || len(met) != 1 || met["a"] != cluster.WasQueued {
		t.Fatalf("met %v, %v", met, err)
	}
	for name, want := range map[string]any{"a-a2": "Cancelled", "other": "PipelineRunPending"} {
		if got := srv.Get(runsAt + "/" + name)["spec"].(apitest.Object)["status"]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestWhyATaskIsToldToEnd(t *testing.T) {
	for _, row := range []struct {
		name string
		end  func(*apitest.Server)
		want cluster.EndReason
	}{
		{"nobody has said anything", func(*apitest.Server) {}, cluster.ParentEvicted},
		{"the PipelineRun is cancelled with its finally", func(s *apitest.Server) {
			s.Change(runsAt+"/start", func(o apitest.Object) { o["spec"].(apitest.Object)["status"] = "CancelledRunFinally" })
		}, cluster.ParentCancelled},
		{"it is gone", func(s *apitest.Server) { s.Remove(runsAt + "/start") }, cluster.ParentCancelled},
		{"its TaskRun is cancelled", func(s *apitest.Server) {
			s.Put(tasksAt+"/start-experiment", apitest.Object{"spec": apitest.Object{"status": "TaskRunCancelled"}})
		}, cluster.ParentCancelled},
		{"its TaskRun has timed out", func(s *apitest.Server) {
			s.Put(tasksAt+"/start-experiment", apitest.Object{
				"status": apitest.Object{"conditions": []any{apitest.Object{"type": "Succeeded", "status": "False",
					"reason": "TaskRunTimeout"}}}})
		}, cluster.ParentTimedOut},
		{"it has timed out", func(s *apitest.Server) {
			s.Change(runsAt+"/start", func(o apitest.Object) {
				o["status"] = apitest.Object{"conditions": []any{apitest.Object{"type": "Succeeded", "status": "False",
					"reason": "PipelineRunTimeout"}}}
			})
		}, cluster.ParentTimedOut},
		{"the API server is away", func(s *apitest.Server) { s.Down(true) }, cluster.ParentEvicted},
	} {
		t.Run(row.name, func(t *testing.T) {
			srv, c := newCluster(t)
			p := makeParent(t, srv, c)
			row.end(srv)
			ctx := eventually.Context(t)
			if row.want == cluster.ParentEvicted { // nobody answers before the end of a step that is killed
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 300*time.Millisecond) //nolint:forbidigo // what is left to that step
				defer cancel()
			}
			if got := p.WhyEnds(ctx, "start-experiment"); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}
