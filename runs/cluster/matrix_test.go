package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/report/brief"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/cluster"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

const customsAt = "/apis/tekton.dev/v1beta1/namespaces/bench/customruns"

// makePlans are n plans of one experiment.
func makePlans(t *testing.T, n int) []*runplan.RunPlan {
	t.Helper()
	var plans []*runplan.RunPlan
	for i := range n {
		p := *makePlan(t)
		p.Name, p.Index, p.Axes = fmt.Sprintf("demo-m%d", i+1), i+1, []runplan.AxisValue{{Path: "load.rate", Value: i}}
		if err := runplan.Seal(&p); err != nil {
			t.Fatal(err)
		}
		plans = append(plans, &p)
	}
	return plans
}

// submitMatrix makes a matrix of n points.
func submitMatrix(t *testing.T, c *cluster.Cluster, n int) *cluster.Matrix {
	t.Helper()
	m, err := c.Matrices().Submit(t.Context(), submission(compile.Options{}, makePlans(t, n)...))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// begins acts Tekton: the CustomRun of a matrix is there, with what its controller has written.
func begins(srv *apitest.Server, m *cluster.Matrix, outcomes string, more ...func(map[string]any)) {
	all, _ := state.Decode(outcomes, m.Points())
	s := state.State{Schema: state.Schema, Points: m.Points(), Outcomes: outcomes, Counts: state.Tally(all)}
	cr := map[string]any{
		"metadata": map[string]any{"labels": map[string]any{contract.LabelRole: contract.RoleMatrix,
			"tekton.dev/pipelineRun": m.Name()},
			"ownerReferences": []any{map[string]any{"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "name": m.Name(),
				"uid": string(m.Parent.UID), "controller": true}}},
		"status": map[string]any{"extraFields": s, "conditions": []any{
			map[string]any{"type": "Succeeded", "status": "Unknown", "message": "it goes on"}}},
	}
	for _, f := range more {
		f(cr)
	}
	srv.Put(customsAt+"/"+m.Name()+"-children", cr)
}

func over(cr map[string]any) {
	cr["status"].(map[string]any)["conditions"] = []any{
		map[string]any{"type": "Succeeded", "status": "False", "reason": "Failed", "message": "ended"}}
}

// ends lets the parent come to its end.
func ends(srv *apitest.Server, m *cluster.Matrix, reason string) {
	status := "False"
	if reason == "Succeeded" {
		status = "True"
	}
	srv.Change(runsAt+"/"+m.Name(), func(o apitest.Object) {
		o["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Succeeded", "status": status,
			"reason": reason, "message": "Tasks Completed: 3 (Failed: 1, Cancelled 0), Skipped: 0"}},
			"completionTime": time.Now().UTC().Format(time.RFC3339)}
	})
}

func find(t *testing.T, c *cluster.Cluster, name string) *cluster.Matrix {
	t.Helper()
	m, err := c.Matrices().Find(t.Context(), name, "")
	if err != nil || m == nil {
		t.Fatalf("matrix %s: %v, %v", name, m, err)
	}
	return m
}

func TestAMatrixIsSubmittedAsOneParent(t *testing.T) {
	srv, c := newCluster(t)
	m := submitMatrix(t, c, 3)
	if m.Name() != "demo-1" || m.Points() != 3 || m.Child(1) != "demo-1-00002" {
		t.Errorf("%s of %d points, the second %s", m.Name(), m.Points(), m.Child(1))
	}
	if runs := srv.List(runsAt + "/"); len(runs) != 1 {
		t.Errorf("runs %v: the controller makes the others", runs)
	}
	maps := srv.List(mapsAt + "/")
	if len(maps) != 1 || !strings.Contains(maps[0], "/bflow-plans-") {
		t.Fatalf("ConfigMaps %v", maps)
	}
	owners := srv.Get(maps[0])["metadata"].(apitest.Object)["ownerReferences"].([]any)
	if len(owners) != 1 || owners[0].(apitest.Object)["name"] != "demo-1" {
		t.Errorf("owners %v: the points go with the matrix", owners)
	}
}

func TestTheStatusOfAMatrix(t *testing.T) {
	for _, row := range []struct {
		name, outcomes string
		do             func(srv *apitest.Server, m *cluster.Matrix)
		state          local.State
		alive          bool
		message        string
		exit           int
	}{
		{name: "before Tekton has begun it", do: func(*apitest.Server, *cluster.Matrix) {}, state: local.Running, alive: true,
			message: "it has no runs yet"},
		{name: "while it goes on", do: func(srv *apitest.Server, m *cluster.Matrix) { begins(srv, m, "pF.") },
			state: local.Running, alive: true, message: "3 points: 1 passed, 1 failed, 1 waiting"},
		{name: "cancelled outright, while runs are taken down", do: func(srv *apitest.Server, m *cluster.Matrix) {
			begins(srv, m, "p2o", func(cr map[string]any) { cr["spec"] = map[string]any{"status": "RunCancelled"} })
			ends(srv, m, "Cancelled")
		}, state: local.Cancelled, alive: true, message: "it is being cancelled; 3 points: 1 passed"},
		{name: "cancelled", do: func(srv *apitest.Server, m *cluster.Matrix) {
			begins(srv, m, "pcs", over)
			ends(srv, m, "Cancelled")
		}, state: local.Cancelled, exit: contract.ExitInterrupted, message: "1 cancelled, 1 skipped"},
		{name: "one invalid and one failed",
			do:    func(srv *apitest.Server, m *cluster.Matrix) { begins(srv, m, "IpF", over); ends(srv, m, "Failed") },
			state: local.Failed, exit: contract.ExitFail, message: "1 passed, 1 failed, 1 invalid"},
		{name: "a breach that is only reported", do: func(srv *apitest.Server, m *cluster.Matrix) {
			begins(srv, m, "pfp", over)
			ends(srv, m, "Succeeded")
		}, state: local.Succeeded, message: "2 passed, 1 failed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			srv, c := newCluster(t)
			row.do(srv, submitMatrix(t, c, 3))
			s, err := find(t, c, "demo").Status()
			if err != nil || s.State != row.state || s.Alive != row.alive || s.ExitCode != row.exit ||
				!strings.Contains(s.Message, row.message) {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

// TestMatricesAreListedWhereNothingServesTheirCustomRuns: whoever asks for runs must not fail because of matrices.
func TestMatricesAreListedWhereNothingServesTheirCustomRuns(t *testing.T) {
	srv, c := newCluster(t)
	m := submitMatrix(t, c, 2)
	srv.Refuse(func(q apitest.Request) (int, string) {
		if q.Resource == "customruns" {
			return http.StatusNotFound, "the server could not find the requested resource"
		}
		return 0, ""
	})
	all, err := c.Matrices().List(t.Context(), "")
	if err != nil || len(all) != 1 || all[0].Name() != m.Name() {
		t.Errorf("got %v, %v", all, err)
	}
}

func TestTheExitCodeOfAMatrixIsThatOfItsRuns(t *testing.T) {
	srv, c := newCluster(t)
	m := submitMatrix(t, c, 4)
	begins(srv, m, "pFIF", over)
	ends(srv, m, "Failed")
	for i, code := range map[int]int{1: contract.ExitBreach, 3: contract.ExitUnhealthy} {
		text, err := json.Marshal(brief.Brief{Schema: brief.Schema, Run: m.Child(i), ExitCode: code})
		if err != nil {
			t.Fatal(err)
		}
		srv.Put(mapsAt+"/"+contract.ResultConfigMap(m.Child(i)), map[string]any{
			"metadata": map[string]any{"labels": map[string]any{contract.LabelRole: "result", contract.LabelExperiment: "demo",
				contract.LabelRun: m.Child(i)}},
			"data": map[string]any{brief.Key: string(text)}})
	}
	m = find(t, c, "demo-1")
	briefs, err := c.Matrices().Briefs(t.Context(), m)
	if err != nil || briefs[0] != nil || briefs[3] == nil {
		t.Fatalf("%v, %v", briefs, err)
	}
	if code, err := m.Exit(briefs); err != nil || code != contract.ExitUnhealthy {
		t.Errorf("%d, %v: the first of 2, 3, 1, 4, 5, 6", code, err)
	}
}

func TestAMatrixIsFollowedToItsEnd(t *testing.T) {
	srv, c := newCluster(t)
	m := submitMatrix(t, c, 3)
	var seen []string
	ended, err := c.Matrices().Follow(eventually.Context(t), m, func(v cluster.MatrixView) {
		var runs []string
		for _, r := range v.Runs {
			runs = append(runs, fmt.Sprintf("%d %s %s", r.Point, r.State, r.Reason))
		}
		if now := fmt.Sprint(v.Counts, runs); !slices.Contains(seen, now) {
			seen = append(seen, now)
		}
		switch v.Counts.Ended() {
		case 0:
			if len(v.Runs) == 0 {
				srv.Put(runsAt+"/"+m.Child(0), map[string]any{"metadata": map[string]any{
					"labels": map[string]any{contract.LabelMatrix: m.Name(), contract.LabelTarget: "local"},
					"annotations": map[string]any{contract.AnnotationPoint: "1",
						contract.AnnotationAdmitted: "2026-01-01T00:00:00Z"}}})
				srv.Put(runsAt+"/"+m.Child(1), map[string]any{"metadata": map[string]any{
					"labels":      map[string]any{contract.LabelMatrix: m.Name()},
					"annotations": map[string]any{contract.AnnotationPoint: "2", contract.AnnotationReason: "Next in queue"}}})
				begins(srv, m, "2o.")
			} else if len(v.Runs) == 2 {
				begins(srv, m, "pcs", over)
				ends(srv, m, "Cancelled")
			}
		}
	}, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := ended.Status(); err != nil || s.Alive || s.ExitCode != contract.ExitInterrupted {
		t.Errorf("%+v, %v", s, err)
	}
	if all := strings.Join(seen, "\n"); !strings.Contains(all, "1 Running") ||
		!strings.Contains(all, "2 Pending Next in queue") {
		t.Errorf("seen\n%s", all)
	}
}

func TestAFollowedMatrixThatIsDeleted(t *testing.T) {
	srv, c := newCluster(t)
	m := submitMatrix(t, c, 2)
	_, err := c.Matrices().Follow(eventually.Context(t), m,
		func(cluster.MatrixView) { srv.Remove(runsAt + "/" + m.Name()) },
		func(error) {})
	wants(t, err, "following demo-1: the matrix was deleted")
}

func TestCancelOfAMatrixMarksItInTheSameChange(t *testing.T) {
	for _, row := range []struct {
		name   string
		force  bool
		status string
	}{{"its runs are taken down by their tasks", false, "CancelledRunFinally"}, {"by force", true, "Cancelled"}} {
		t.Run(row.name, func(t *testing.T) {
			srv, c := newCluster(t)
			m := submitMatrix(t, c, 2)
			before := len(srv.Requests())
			if met, err := c.Matrices().Cancel(t.Context(), m, row.force, time.Now()); err != nil || met != cluster.WasAlive {
				t.Fatalf("%s, %v", met, err)
			}
			if asked := len(srv.Requests()) - before; asked != 1 {
				t.Errorf("%d requests: between mark and cancel a run could start", asked)
			}
			pr := srv.Get(runsAt + "/demo-1")
			annotations := pr["metadata"].(apitest.Object)["annotations"].(apitest.Object)
			if pr["spec"].(apitest.Object)["status"] != row.status || annotations[contract.AnnotationCancel] == nil ||
				(annotations[contract.AnnotationForce] != nil) != row.force {
				t.Errorf("%v, %v", pr["spec"], annotations)
			}
			ends(srv, m, "Cancelled")
			begins(srv, m, "2c", over)
			if met, err := c.Matrices().Cancel(t.Context(), find(t, c, "demo-1"), row.force, time.Now()); err != nil ||
				met != cluster.WasOver {
				t.Errorf("%s, %v", met, err)
			}
		})
	}
}

func TestWhatFailedIsRunAgain(t *testing.T) {
	srv, c := newCluster(t)
	m := submitMatrix(t, c, 5)
	begins(srv, m, "pFfcd", over)
	ends(srv, m, "Failed")
	name := func(base string) string { return base + "-again" }
	again, err := c.Matrices().Again(t.Context(), find(t, c, "demo-1"), true, name)
	if err != nil || again.Points() != 3 || again.Name() != "demo-1-again" {
		t.Fatalf("%+v, %v", again, err)
	}
	points, err := c.Matrices().Points(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"demo-m2", "demo-m4", "demo-m5"} {
		if got := points.About(i).Name; got != want {
			t.Errorf("point %d is %s, want %s", i, got, want)
		}
	}
	begins(srv, again, "3p", over)
	if _, err := c.Matrices().Again(t.Context(), find(t, c, "demo-1-again"), true,
		name); !errors.Is(err, cluster.ErrNothing) {
		t.Errorf("got %v", err)
	}
	whole, err := c.Matrices().Again(t.Context(), find(t, c, "demo-1-again"), false,
		func(string) string { return "third" })
	if err != nil || whole.Points() != 3 {
		t.Errorf("%v, %v", whole, err)
	}
}

func TestDeletingAMatrixWaitsForItsController(t *testing.T) {
	srv, c := newCluster(t)
	m := submitMatrix(t, c, 2)
	begins(srv, m, "2p", over)
	if err := c.Matrices().Delete(t.Context(), find(t, c, "demo-1"), false,
		func(string) {}); !errors.Is(err, cluster.ErrAlive) {
		t.Errorf("got %v", err)
	}
	ends(srv, m, "Succeeded")
	srv.Put(runsAt+"/"+m.Child(0), map[string]any{"metadata": map[string]any{
		"labels": map[string]any{contract.LabelMatrix: m.Name()}}})
	held := false
	err := c.Matrices().Delete(eventually.Context(t), find(t, c, "demo-1"), false, func(why string) {
		held = strings.Contains(why, "all objects of its runs on targets are deleted")
		srv.Remove(customsAt + "/demo-1-children")
		srv.Remove(runsAt + "/" + m.Child(0))
	})
	if err != nil || !held || len(srv.List(runsAt+"/")) != 0 {
		t.Errorf("%v, held %v, %v", err, held, srv.List(runsAt+"/"))
	}
}

// orphanMatrix is a matrix of two points with its runs, all held for a controller.
func orphanMatrix(t *testing.T, srv *apitest.Server, c *cluster.Cluster) *cluster.Matrix {
	t.Helper()
	m := submitMatrix(t, c, 2)
	hold := func(o map[string]any, finalizers ...any) {
		o["metadata"].(map[string]any)["finalizers"] = finalizers
	}
	begins(srv, m, "2p", func(cr map[string]any) { hold(cr, contract.FinalizerMatrix) })
	srv.Change(runsAt+"/"+m.Name(), func(o apitest.Object) { hold(o, contract.FinalizerMatrix) })
	for i := range 2 {
		srv.Put(runsAt+"/"+m.Child(i), makeRun(m.Child(i), func(pr *tektonv1.PipelineRun) {
			pr.Labels[contract.LabelMatrix], pr.Finalizers = m.Name(), []string{contract.Finalizer, contract.FinalizerMatrix}
		}))
	}
	return m
}

// TestAMatrixGoesWithoutAController: its runs first, each taken down as one of its own.
func TestAMatrixGoesWithoutAController(t *testing.T) {
	for _, row := range []struct {
		name string
		find func(srv *apitest.Server, c *cluster.Cluster, name string) (*cluster.Matrix, error)
	}{
		{"one that is there", func(_ *apitest.Server, c *cluster.Cluster, name string) (*cluster.Matrix, error) {
			return c.Matrices().Find(t.Context(), name, "")
		}},
		{"one whose parent was deleted", func(srv *apitest.Server, c *cluster.Cluster, name string) (*cluster.Matrix, error) {
			srv.Remove(runsAt + "/" + name)
			return c.Matrices().FindLeft(t.Context(), name, "")
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			srv, c := newCluster(t)
			name := orphanMatrix(t, srv, c).Name()
			m, err := row.find(srv, c, name)
			if err != nil || m == nil {
				t.Fatalf("found %v, %v", m, err)
			}
			var order []string
			err = c.Matrices().DeleteOrphan(eventually.Context(t), m, func(r *cluster.Run) error {
				order = append(order, r.ID)
				if srv.Get(customsAt+"/"+name+"-children") == nil {
					t.Errorf("the matrix was let go before run %s", r.ID)
				}
				return c.DeleteOrphan(t.Context(), r, func(context.Context) {}, func(string) {})
			}, func(string) {})
			slices.Sort(order)
			if err != nil || !slices.Equal(order, []string{m.Child(0), m.Child(1)}) {
				t.Errorf("deleted %q: %v", order, err)
			}
			if left := append(srv.List(runsAt+"/"), srv.List(customsAt+"/")...); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// TestAMatrixStaysWithARunThatDoes: who repeats the command finds both.
func TestAMatrixStaysWithARunThatDoes(t *testing.T) {
	srv, c := newCluster(t)
	name := orphanMatrix(t, srv, c).Name()
	refused := errors.New("refused")
	err := c.Matrices().DeleteOrphan(t.Context(), find(t, c, name), func(*cluster.Run) error { return refused },
		func(string) {})
	if !errors.Is(err, refused) || srv.Get(customsAt+"/"+name+"-children") == nil || len(srv.List(runsAt+"/")) != 3 {
		t.Errorf("%v; left %q", err, srv.List(runsAt+"/"))
	}
}
