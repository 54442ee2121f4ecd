package cluster_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	queuerun "bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/cluster"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

func TestCancel(t *testing.T) {
	running := func(pr *tektonv1.PipelineRun) {
		begun(contract.Provision)(pr)
		condition(corev1.ConditionUnknown, "Running", "")(pr)
	}
	tests := []struct {
		name   string
		run    func(*tektonv1.PipelineRun)
		force  bool
		met    cluster.Ended
		status any
		forced bool // its quota is to be given back at once
		marked bool // though its status stays as it is
	}{
		{name: "one that waits must not start", run: pending, met: cluster.WasQueued, status: "Cancelled"},
		{name: "one that waits is not forced to start either", run: pending, force: true, met: cluster.WasQueued,
			status: "Cancelled"},
		{name: "one that has started takes everything down", run: running, met: cluster.WasAlive,
			status: "CancelledRunFinally"},
		{name: "by force nothing of it runs any more", run: running, force: true, met: cluster.WasAlive, status: "Cancelled",
			forced: true},
		{name: "one that somebody else has cancelled outright stays so", run: func(pr *tektonv1.PipelineRun) {
			running(pr)
			pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled
		}, met: cluster.WasAlive, status: "Cancelled"},
		{name: "one that has ended is left alone", run: condition(corev1.ConditionTrue, "Succeeded", ""),
			met: cluster.WasOver},
		{name: "by force also one that has ended and is held", run: func(pr *tektonv1.PipelineRun) {
			condition(corev1.ConditionTrue, "Succeeded", "")(pr)
			pr.Annotations = map[string]string{contract.AnnotationAdmitted: "x"}
		}, force: true, met: cluster.WasAlive, forced: true},
		{name: "but none that is released", run: func(pr *tektonv1.PipelineRun) {
			condition(corev1.ConditionTrue, "Succeeded", "")(pr)
			pr.Annotations = map[string]string{contract.AnnotationAdmitted: "x", contract.AnnotationReleased: "x"}
		}, force: true, met: cluster.WasOver},
		{name: "one between two attempts gets no further one", run: taken(true), met: cluster.WasQueued, marked: true},
		{name: "also while it still holds its devices", run: taken(false), met: cluster.WasQueued, marked: true},
		{name: "and by force", run: taken(true), force: true, met: cluster.WasQueued, marked: true},
		{name: "one that gets none has ended", run: func(pr *tektonv1.PipelineRun) {
			taken(true)(pr)
			pr.Annotations[queuerun.AnnotationNext] = queuerun.NoNext
		}, met: cluster.WasOver},
		{name: "one whose next attempt was deleted has ended", run: func(pr *tektonv1.PipelineRun) {
			taken(true)(pr)
			pr.Annotations[queuerun.AnnotationNext] = "r-a2"
		}, met: cluster.WasOver},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv, c := newCluster(t)
			srv.Put(runsAt+"/r", makeRun("r", tt.run))
			run, err := c.Find(t.Context(), "r", namespace)
			if err != nil {
				t.Fatal(err)
			}
			met, err := c.Cancel(t.Context(), run, tt.force, time.Now())
			if err != nil || met != tt.met {
				t.Fatalf("met %s, %v", met, err)
			}
			pr := srv.Get(runsAt + "/r")
			if spec, _ := pr["spec"].(apitest.Object); tt.status != nil && spec["status"] != tt.status {
				t.Errorf("status %v, want %v", spec["status"], tt.status)
			}
			annotations, _ := pr["metadata"].(apitest.Object)["annotations"].(apitest.Object)
			if forced := annotations[contract.AnnotationForce] != nil; forced != tt.forced {
				t.Errorf("annotations %v", annotations)
			}
			if marked := annotations[contract.AnnotationCancel] != nil; marked != (tt.status != nil || tt.forced || tt.marked) {
				t.Errorf("annotations %v", annotations)
			}
		})
	}
}

// taken is a run that lost its quota to others, and that may be released.
func taken(released bool) func(*tektonv1.PipelineRun) {
	return func(pr *tektonv1.PipelineRun) {
		condition(corev1.ConditionFalse, "Cancelled", "")(pr)
		pr.Annotations = map[string]string{contract.AnnotationAdmitted: "x",
			queuerun.AnnotationStopped: queuerun.CauseEvicted + ": x"}
		if released {
			pr.Annotations[contract.AnnotationReleased] = "x"
		}
	}
}

// TestACancelReachesTheAttemptThatWasJustMade: the list that names the run is older than its next attempt.
func TestACancelReachesTheAttemptThatWasJustMade(t *testing.T) {
	for _, row := range []struct {
		name string
		late bool // the next attempt is written down only after the run was read
	}{{"it was written down", false}, {"it is written down while the cancel is on its way", true}} {
		t.Run(row.name, func(t *testing.T) {
			srv, c := newCluster(t)
			named := func(pr *tektonv1.PipelineRun) { pr.Annotations[queuerun.AnnotationNext] = "r-a2" }
			first := makeRun("r", taken(true))
			if !row.late {
				named(first)
			}
			srv.Put(runsAt+"/r", first)
			found, err := c.Find(t.Context(), "r", namespace)
			if err != nil {
				t.Fatal(err)
			}
			if row.late {
				named(first)
				srv.Put(runsAt+"/r", first)
			}
			srv.Put(runsAt+"/r-a2", makeRun("r-a2", pending))
			if met, err := c.Cancel(t.Context(), found, false, time.Now()); err != nil || met != cluster.WasQueued {
				t.Fatalf("met %s, %v", met, err)
			}
			if status := srv.Get(runsAt + "/r-a2")["spec"].(apitest.Object)["status"]; status != "Cancelled" {
				t.Errorf("status of the next attempt: %v", status)
			}
		})
	}
}

func TestACancelThatMeetsAnAdmissionKeepsTheTeardown(t *testing.T) {
	srv, c := newCluster(t)
	run := submit(t, c, compile.Options{})
	change(srv, runsAt+"/demo-1", func(pr *tektonv1.PipelineRun) { begun(contract.Provision)(pr) })()
	met, err := c.Cancel(t.Context(), run, false, time.Now())
	if err != nil || met != cluster.WasAlive {
		t.Fatalf("met %s, %v", met, err)
	}
	if status := srv.Get(runsAt + "/demo-1")["spec"].(apitest.Object)["status"]; status != "CancelledRunFinally" {
		t.Errorf("status %v: the run had just started", status)
	}
}

func TestDeleteWaitsForTheRelease(t *testing.T) {
	srv, c := newCluster(t)
	pr := makeRun("r", condition(corev1.ConditionTrue, "Succeeded", ""))
	pr.Finalizers = []string{contract.Finalizer}
	srv.Put(runsAt+"/r", pr)
	srv.Put(mapsAt+"/"+contract.ResultConfigMap("r"), map[string]any{})
	run, err := c.Find(t.Context(), "r", "")
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	err = c.Delete(eventually.Context(t), run, false, func(why string) {
		said = why
		srv.Change(runsAt+"/r", func(o apitest.Object) { delete(o["metadata"].(apitest.Object), "finalizers") })
	})
	if err != nil {
		t.Fatal(err)
	}
	if said != "bflow-controller has to release it, but is not running: see bflow doctor, or use --force if it is "+
		"gone for good" {
		t.Errorf("said %q", said)
	}
	if left := append(srv.List(runsAt+"/"), srv.List(mapsAt)...); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestARunThatGoesOnIsDeletedByForceOnly(t *testing.T) {
	srv, c := newCluster(t)
	run := submit(t, c, compile.Options{})
	if err := c.Delete(t.Context(), run, false, func(string) {}); !errors.Is(err, cluster.ErrAlive) {
		t.Errorf("got %v", err)
	}
	if err := c.Delete(eventually.Context(t), run, true, func(string) {}); err != nil {
		t.Error(err)
	}
	if left := srv.List(runsAt + "/"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestAnOrphanGoesOnceItIsTakenDown: our finalizers hold it until then, those of others afterwards.
func TestAnOrphanGoesOnceItIsTakenDown(t *testing.T) {
	srv, c := newCluster(t)
	pr := makeRun("r", condition(corev1.ConditionTrue, "Succeeded", ""))
	pr.Finalizers = []string{contract.Finalizer, contract.FinalizerMatrix}
	srv.Put(runsAt+"/r", pr)
	run, err := c.Find(t.Context(), "r", "")
	if err != nil {
		t.Fatal(err)
	}
	held := false
	err = c.DeleteOrphan(eventually.Context(t), run, func(context.Context) { held = srv.Get(runsAt+"/r") != nil },
		func(string) {})
	if err != nil || !held {
		t.Errorf("there before: %v, %v", held, err)
	}
	if left := srv.List(runsAt + "/"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestRunsAreOrphansWithoutAController(t *testing.T) {
	now := time.Now()
	for _, row := range []struct {
		name       string
		deployment map[string]any
		want       bool
	}{
		{name: "it is not installed", want: true},
		{name: "it has no replicas", deployment: map[string]any{"spec": map[string]any{"replicas": 0}}, want: true},
		{name: "it is available", deployment: available("True", now.Add(-time.Hour))},
		{name: "it starts again", deployment: available("False", now.Add(-time.Second))},
		{name: "it has been away for long", deployment: available("False", now.Add(-time.Hour)), want: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			srv, c := newCluster(t)
			if row.deployment != nil {
				srv.Put("/apis/apps/v1/namespaces/"+contract.NamespaceSystem+"/deployments/"+contract.AccountController,
					row.deployment)
			}
			if got := c.Orphaned(t.Context(), now); got != row.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func available(status string, since time.Time) map[string]any {
	return map[string]any{"spec": map[string]any{"replicas": 1}, "status": map[string]any{"conditions": []any{
		map[string]any{"type": "Available", "status": status, "lastTransitionTime": since.UTC().Format(time.RFC3339)}}}}
}

func TestConnectSaysWhyThereIsNoAnswer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	away := silent.Addr().String()
	tests := []struct {
		name string
		host string
		want []string
	}{
		{name: "nobody listens", host: "http://127.0.0.1:1",
			want: []string{"the API server of cluster hub (http://127.0.0.1:1) does not answer", "connection refused"}},
		{name: "nobody speaks", host: "http://" + away, want: []string{"does not answer: no answer within 10s"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := cluster.Connect(eventually.Context(t), &rest.Config{Host: tt.host}, "hub")
			wants(t, err, tt.want...)
		})
	}
	srv := apitest.New(t)
	srv.Refuse(func(apitest.Request) (int, string) { return http.StatusUnauthorized, "Unauthorized" })
	_, err = cluster.Connect(t.Context(), srv.Config(), "hub")
	wants(t, err, "cluster hub does not accept your credentials", "log in again")
}

func TestFind(t *testing.T) {
	srv, c := newCluster(t)
	srv.Put(runsAt+"/demo-1", makeRun("demo-1"))
	srv.Put(runsAt+"/demo-2", makeRun("demo-2"))
	second := makeRun("other-1-a2")
	second.Labels[contract.LabelRun], second.Labels[contract.LabelAttempt] = "other-1", "2"
	srv.Put(runsAt+"/other-1", makeRun("other-1"))
	srv.Put(runsAt+"/other-1-a2", second)
	stranger := makeRun("stranger")
	stranger.Labels = nil
	srv.Put(runsAt+"/stranger", stranger)
	for _, name := range []string{"other-1", "other-1-a2", "oth"} {
		if run, err := c.Find(t.Context(), name, ""); err != nil || run.ID != "other-1" || len(run.Attempts) != 2 ||
			run.Last().Name != "other-1-a2" {
			t.Errorf("%s: %v, %v", name, run, err)
		}
	}
	_, err := c.Find(t.Context(), "demo", "")
	wants(t, err, "2 runs match: demo-1, demo-2")
	_, err = c.Find(t.Context(), "stranger", "")
	wants(t, err, "no such run among the 3 there")
	srv.Refuse(func(q apitest.Request) (int, string) {
		if q.Path == "/apis/tekton.dev/v1/pipelineruns" {
			return http.StatusForbidden, "pipelineruns.tekton.dev is forbidden"
		}
		return 0, ""
	})
	if _, err := c.Find(t.Context(), "demo-1", "", namespace); err != nil {
		t.Errorf("who may list one namespace finds it there: %v", err)
	}
}
