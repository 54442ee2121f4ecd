package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/report/brief"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/cluster"
)

const manyPoints = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: many}
spec:
  namespace: bench
  model: {name: acme/tiny}
  deployment_profile: sim
  load: {data: {input: 16, output: 4}, stages: [{rate: 10, duration: 2s}]}
  matrix: {axes: {"load.stages[0].rate": [10, 20, 30]}}
`

// lab is a cluster on which somebody works with a matrix.
type lab struct {
	t        *testing.T
	srv      *apitest.Server
	dir      string
	out, err safeBuffer
	name     string // of the matrix
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, srv: apitest.New(t, "bench"), dir: t.TempDir()}
	l.srv.ServeRuns()
	l.srv.Put("/apis/kueue.x-k8s.io/v1beta2/namespaces/bench/localqueues/local", map[string]any{})
	path, err := l.srv.Kubeconfig(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
	t.Setenv("BFLOW_RUNS_DIR", filepath.Join(l.dir, "runs"))
	t.Setenv(contract.EnvMLflowURI, "")
	file := filepath.Join(l.dir, "many.yaml")
	if err := os.WriteFile(file, []byte(manyPoints), 0o600); err != nil {
		t.Fatal(err)
	}
	l.wants(0, "run", file)
	l.name = strings.TrimSpace(l.out.String())
	return l
}

// wants runs a command and fails unless it ends with code and says words.
func (l *lab) wants(code int, args ...string) string {
	l.t.Helper()
	l.out, l.err = safeBuffer{}, safeBuffer{}
	if got := Main(l.t.Context(), Streams{In: strings.NewReader(""), Out: &l.out, Err: &l.err},
		append([]string{"bflow"}, args...)); got != code {
		l.t.Errorf("bflow %s ended with %d, want %d: %s%s",
			strings.Join(args, " "), got, code, l.out.String(), l.err.String())
	}
	return l.out.String() + l.err.String()
}

func (l *lab) says(text string, words ...string) {
	l.t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			l.t.Errorf("%.2000q does not say %q", text, w)
		}
	}
}

// customRun acts Tekton and the controller.
func (l *lab) customRun(outcomes string, over bool) { actMatrix(l.srv, l.name, outcomes, over) }

// actMatrix acts Tekton and the controller for a matrix of three points.
func actMatrix(srv *apitest.Server, name, outcomes string, over bool) {
	all, _ := state.Decode(outcomes, 3)
	s := state.State{
		Schema: state.Schema, Points: 3, Outcomes: outcomes, Counts: state.Tally(all),
		Notes: []string{"run x was deleted before its end"},
	}
	status := "Unknown"
	if over {
		status = "False"
	}
	uid := srv.Get(benchRuns + name)["metadata"].(apitest.Object)["uid"]
	srv.Put("/apis/tekton.dev/v1beta1/namespaces/bench/customruns/"+name+"-children", map[string]any{
		"metadata": map[string]any{"labels": map[string]any{
			contract.LabelRole: contract.RoleMatrix, "tekton.dev/pipelineRun": name},
			"ownerReferences": []any{
				map[string]any{"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "name": name, "uid": uid}}},
		"status": map[string]any{
			"extraFields": s,
			"conditions":  []any{map[string]any{"type": "Succeeded", "status": status, "message": "m"}},
		}})
	if !over {
		return
	}
	srv.Change(benchRuns+name, func(o apitest.Object) {
		o["status"] = map[string]any{
			"conditions":     []any{map[string]any{"type": "Succeeded", "status": "False", "reason": "Failed"}},
			"completionTime": time.Now().UTC().Format(time.RFC3339),
		}
	})
}

// summary is what the last task of a run leaves.
func (l *lab) summary(point, code int) {
	l.t.Helper()
	run := fmt.Sprintf("%s-%05d", l.name, point)
	text, err := json.Marshal(brief.Brief{Schema: brief.Schema, Run: run, Experiment: "many",
		Point: fmt.Sprint("many-m", point), ExitCode: code,
		Verdict: map[int]string{0: "pass", 5: "fail"}[code], Reasons: []string{"ttft p99 is above its limit"},
		Stages: []brief.Stage{{
			Name: "s", Rate: 10, Requests: 20, OK: 20, Verdict: "pass", WindowS: 2,
			Rates: map[string]float64{"request_rate": 9.5},
		}}})
	if err != nil {
		l.t.Fatal(err)
	}
	l.srv.Put("/api/v1/namespaces/bench/configmaps/"+contract.ResultConfigMap(run), map[string]any{
		"metadata": map[string]any{"labels": map[string]any{
			contract.LabelRole: "result", contract.LabelExperiment: "many", contract.LabelRun: run}},
		"data": map[string]any{brief.Key: string(text)}})
}

func TestTheLifeOfAMatrixAtTheCommandLine(t *testing.T) {
	l := newLab(t)
	if runs := l.srv.List(benchRuns); len(runs) != 1 {
		t.Fatalf("runs %v", runs)
	}
	l.says(l.wants(0, "list", "-n", "bench"), l.name, "Running", "it has no runs yet")
	l.customRun("pFo", false)
	l.says(l.wants(0, "status", "many"), "Points:   3: 1 passed, 1 failed", l.name+"-00002  2      failed", "Note:")
	l.says(l.wants(2, "logs", "many"), "is a matrix of 3 runs; name one of them, such as "+l.name+"-00001")
	l.says(l.wants(1, "fetch", "many"), "none of its runs has started")
	l.says(l.wants(1, "report", "many"), "none of its runs has a summary yet")
	l.summary(1, 0)
	l.summary(2, contract.ExitBreach)
	page := filepath.Join(l.dir, "page.html")
	l.says(l.wants(0, "report", "many", "--out", page), "it shows 2 of 3 points", "many-m1", "report: "+page)
	l.says(l.wants(1, "delete", "--yes", "many"), "it has not ended; cancel it with bflow cancel "+l.name)
	l.says(l.wants(0, "cancel", "--yes", "many"), "no more runs start")
	l.customRun("pFp", true)
	l.says(l.wants(contract.ExitBreach, "watch", "many", "--plain"), "3 of 3 ended: 2 passed, 1 failed",
		l.name+"-00002: fail: ttft p99", "rerun "+l.name+" --failed runs 1 points again")
	l.says(l.wants(0, "cancel", l.name), "has already ended")
	l.says(l.wants(0, "rerun", l.name, "--failed"), "submitted a matrix of 1 points")
	if again := strings.TrimSpace(l.out.String()); again == l.name || len(l.srv.List(benchRuns)) != 2 {
		t.Errorf("again %q, %v", again, l.srv.List(benchRuns))
	}
}

// TestAMatrixIsDeletedByForceWithoutAController: nothing of it waits for one that is gone for good.
func TestAMatrixIsDeletedByForceWithoutAController(t *testing.T) {
	l := newLab(t)
	l.customRun("2oo", false)
	custom := "/apis/tekton.dev/v1beta1/namespaces/bench/customruns/" + l.name + "-children"
	run := benchRuns + l.name + "-00001"
	l.srv.Serve("kueue.x-k8s.io/v1beta2", "Workload", true)
	l.srv.Put("/api/v1/namespaces/kube-system", apitest.Object{"metadata": apitest.Object{"uid": "hub"}})
	l.srv.Put(run, apitest.Object{"metadata": apitest.Object{"labels": apitest.Object{
		contract.LabelPlanHash: "h", contract.LabelRun: l.name + "-00001", contract.LabelMatrix: l.name}}})
	for path, finalizer := range map[string]string{custom: contract.FinalizerMatrix, run: contract.Finalizer} {
		l.srv.Change(path, func(o apitest.Object) { o["metadata"].(apitest.Object)["finalizers"] = []any{finalizer} })
	}
	l.srv.Remove(benchRuns + l.name) // as kubectl does
	l.says(l.wants(0, "delete", "--force", "--yes", l.name),
		"bflow-controller is not running; deleting "+l.name+"-00001 without it", "deleted "+l.name)
	if left := append(l.srv.List(benchRuns), l.srv.List(custom)...); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

func TestFlatMakesARunForEveryPoint(t *testing.T) {
	l := newLab(t)
	l.wants(0, "run", filepath.Join(l.dir, "many.yaml"), "--flat")
	if runs := l.srv.List(benchRuns); len(runs) != 4 {
		t.Errorf("runs %v", runs)
	}
}

// TestTheTasksAroundAMatrix runs the steps as they stand in its Pipeline.
func TestTheTasksAroundAMatrix(t *testing.T) {
	l := newLab(t)
	t.Setenv(contract.EnvPipelineRun, l.name)
	t.Setenv(contract.EnvPipelineRunUID, "uid")
	t.Setenv(contract.EnvNamespace, "bench")
	spec := pipelines.Matrix{Image: "bflow", Experiment: "many"}.Spec()
	step := func(task tektonv1.PipelineTask) string {
		var args []string
		for _, arg := range task.TaskSpec.Steps[0].Args {
			for _, r := range task.TaskSpec.Results {
				arg = strings.ReplaceAll(arg, "$(results."+r.Name+".path)", filepath.Join(l.dir, r.Name))
			}
			args = append(args, arg)
		}
		return l.wants(0, args...)
	}
	step(spec.Tasks[0])
	if id, err := os.ReadFile(filepath.Join(l.dir, contract.ResultMLflowRunID)); err != nil || len(id) > 0 {
		t.Errorf("%q, %v: without a tracking server there is no run", id, err)
	}
	l.customRun("pFp", false)
	l.summary(1, 0)
	l.summary(2, contract.ExitBreach)
	l.says(step(spec.Finally[0]), "fail: 2 passed, 1 failed")
	if word, err := os.ReadFile(filepath.Join(l.dir, contract.ResultVerdict)); err != nil || string(word) != "fail" {
		t.Errorf("%q, %v", word, err)
	}
	c, err := cluster.Connect(t.Context(), l.srv.Config(), "")
	if err != nil {
		t.Fatal(err)
	}
	summary, html, err := c.Matrices().Results(t.Context(), "bench", l.name)
	if err != nil {
		t.Fatal(err)
	}
	l.says(string(summary), `"exit_code":5`, `"failed":1`)
	l.says(string(html), "many-m2", "ttft p99 is above its limit")
}

// TestAMatrixOfThisMachineIsNotRerunOnTheCluster: --cluster asks the cluster for a matrix of its own.
func TestAMatrixOfThisMachineIsNotRerunOnTheCluster(t *testing.T) {
	l := newLab(t)
	for _, run := range []string{"here-1", "here-2"} {
		dir := filepath.Join(l.dir, "runs", run, "local")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		line := `{"time":"2026-11-25T12:00:00Z","kind":"attempt_started","attempt":1,"runId":"` + run +
			`","matrix":"many-0"}` + "\n"
		if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l.says(l.wants(0, "rerun", "many", "--cluster"), "submitted a matrix of 3 points")
	l.says(l.wants(contract.ExitUsage, "rerun", "many-0", "--cluster"),
		"many-0 is a matrix of 2 runs; name one of them, such as here-1")
	if all := l.srv.List(benchRuns); len(all) != 2 {
		t.Errorf("on the cluster: %q", all)
	}
}
