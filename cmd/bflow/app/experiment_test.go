package app

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/runplan/contract"
)

const (
	benchRuns  = "/apis/tekton.dev/v1/namespaces/bench/pipelineruns/"
	benchTasks = "/apis/tekton.dev/v1/namespaces/bench/taskruns/"
	starter    = "start-1"
)

const smallExperiment = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: small}
spec:
  namespace: bench
  model: {name: acme/tiny}
  deployment_profile: sim
  load: {data: {input: 16, output: 4}, stages: [{rate: 10, duration: 2s}]}
`

// desk is a cluster on which somebody has started Pipeline bflow-experiment, and the step of its task.
type desk struct {
	t        *testing.T
	srv      *apitest.Server
	dir      string
	out, err safeBuffer
}

// safeBuffer is written by a command while a test reads it.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newDesk(t *testing.T, params map[string]string) *desk {
	t.Helper()
	d := &desk{t: t, srv: apitest.New(t, "bench"), dir: t.TempDir()}
	d.srv.ServeRuns()
	d.srv.Put("/apis/kueue.x-k8s.io/v1beta2/namespaces/bench/localqueues/local", map[string]any{})
	d.srv.Put("/api/v1/namespaces/bench/configmaps/"+contract.ConfigMapHub, map[string]any{
		"data": map[string]any{"images": "reg.example/bflow", "platform": "openshift"},
	})
	path, err := d.srv.Kubeconfig(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
	t.Setenv("TMPDIR", d.dir)
	t.Setenv(contract.EnvPipelineRun, starter)
	t.Setenv(contract.EnvTaskRun, starter+"-experiment")
	t.Setenv(contract.EnvNamespace, "bench")
	_, pipeline, err := pipelines.Experiment(pipelines.Release{Version: "v1", Images: map[string]string{"bflow": "bflow"}})
	if err != nil {
		t.Fatal(err)
	}
	var given []any
	for name, value := range params {
		given = append(given, map[string]any{"name": name, "value": value})
	}
	d.srv.Put(benchRuns+starter, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{contract.AnnotationStarted: "a push by jane"},
			"creationTimestamp": "2026-11-22T04:05:06Z"},
		"spec":   map[string]any{"params": given, "timeouts": map[string]any{"pipeline": "1h0m0s"}},
		"status": map[string]any{"pipelineSpec": pipeline.Spec},
	})
	return d
}

// step runs what the Task says, and returns the exit code.
func (d *desk) step(ctx context.Context) int {
	d.t.Helper()
	task, _, err := pipelines.Experiment(pipelines.Release{Version: "v1", Images: map[string]string{"bflow": "bflow"}})
	if err != nil {
		d.t.Fatal(err)
	}
	argv := []string{"bflow"}
	for _, arg := range task.Spec.Steps[0].Args {
		for _, result := range []string{contract.ResultVerdict, contract.ResultRuns, contract.ResultPlanHashes} {
			arg = strings.ReplaceAll(arg, "$(results."+result+".path)", filepath.Join(d.dir, result))
		}
		argv = append(argv, arg)
	}
	return Main(ctx, Streams{In: strings.NewReader(""), Out: &d.out, Err: &d.err}, argv)
}

func (d *desk) result(name string) string {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

// children are the runs that the step has made.
func (d *desk) children() []string {
	var all []string
	for _, path := range d.srv.List(benchRuns) {
		if filepath.Base(path) != starter {
			all = append(all, path)
		}
	}
	return all
}

// awaits waits until it says something.
func (d *desk) awaits(words string) {
	d.t.Helper()
	eventually.Nil(d.t, "that it says: "+words, func() error {
		if said := d.err.String(); !strings.Contains(said, words) {
			return errors.New(said)
		}
		return nil
	})
}

func (d *desk) says(words ...string) {
	d.t.Helper()
	for _, w := range words {
		if !strings.Contains(d.err.String(), w) {
			d.t.Errorf("it does not say %q:\n%s", w, d.err.String())
		}
	}
}

func TestAnExperimentInTheParamsRunsToItsVerdict(t *testing.T) {
	for _, row := range []struct {
		name, status, reason string
		judged               string // by the run's own task
		code                 int
		verdict              string
	}{
		{"a run that passes", "True", "Succeeded", "pass", 0, "pass"},
		{"a run that fails", "False", "Failed", "fail", 1, "fail"},
		{"a run whose numbers are marked as invalid, and which is green for all that", "True", "Succeeded",
			"invalid", 0, "invalid"},
		{"a run that is red and whose numbers cannot be believed", "False", "Failed", "invalid", 4, "invalid"},
		{"a run that left something behind after it had passed", "False", "Failed", "pass", 1, "fail"},
		{"a run that came to no verdict", "False", "Failed", "", 1, "fail"},
		{"a run that somebody cancels", "False", "Cancelled", "", 130, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t, map[string]string{
				"experiment": smallExperiment, "overrides": "load.stages=[{rate: 20, duration: 2s}]",
			})
			go func() { // the server tells of the end as a controller would: after the run was made
				eventually.Happens(t.Context(), func() bool { return len(d.children()) > 0 })
				for _, path := range d.children() {
					d.srv.Change(path, func(o apitest.Object) {
						delete(o["spec"].(apitest.Object), "status")
						o["status"] = apitest.Object{"conditions": []any{apitest.Object{
							"type": "Succeeded", "status": row.status, "reason": row.reason, "message": "so it is"}},
							"results": []any{apitest.Object{"name": contract.ResultVerdict, "value": row.judged}}}
					})
				}
			}()
			if code := d.step(eventually.Context(t)); code != row.code {
				t.Fatalf("exit code %d, want %d\n%s", code, row.code, d.err.String())
			}
			if out := d.out.String(); out != "" {
				t.Errorf("a log of two streams has no order, and this is on the other:\n%s", out)
			}
			run := d.srv.Get(d.children()[0])
			meta := run["metadata"].(apitest.Object)
			labels, notes := meta["labels"].(apitest.Object), meta["annotations"].(apitest.Object)
			hash := d.result(contract.ResultPlanHashes)
			if d.result(contract.ResultVerdict) != row.verdict || d.result(contract.ResultRuns) != meta["name"] ||
				!strings.HasPrefix(hash, labels[contract.LabelPlanHash].(string)) {
				t.Errorf("results %q, %q, %q", d.result(contract.ResultVerdict), d.result(contract.ResultRuns), hash)
			}
			if labels[contract.LabelParent] != starter || notes[contract.AnnotationStarted] != "a push by jane" ||
				notes[contract.AnnotationSource] != "param experiment" {
				t.Errorf("labels %v, annotations %v", labels, notes)
			}
			owner := meta["ownerReferences"].([]any)[0].(apitest.Object)
			parent := d.srv.Get(benchRuns + starter)["metadata"].(apitest.Object)
			if owner["uid"] != parent["uid"] || owner["name"] != starter {
				t.Errorf("owner %v, want %v", owner, parent)
			}
			d.says("this PipelineRun times out after 1h0m0s", "verdict: "+row.verdict)
			if plan := planHash(t, smallExperiment,
				"load.stages=[{rate: 20, duration: 2s}]"); plan != labels[contract.LabelPlanHash] {
				t.Errorf("plan %v, bflow compile says %s", labels[contract.LabelPlanHash], plan)
			}
		})
	}
}

// planHash is the label that bflow compile gives the run of an experiment.
func planHash(t *testing.T, text, set string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Main(t.Context(), Streams{In: strings.NewReader(text), Out: &out, Err: &errs},
		[]string{"bflow", "compile", "-", "--set", set}); code != 0 {
		t.Fatal(errs.String())
	}
	_, rest, _ := strings.Cut(out.String(), contract.LabelPlanHash+": ")
	hash, _, _ := strings.Cut(rest, "\n")
	return strings.Trim(hash, "'")
}

func TestASecondTryFindsTheRunsOfTheFirst(t *testing.T) {
	for _, row := range []struct {
		name, overrides string
		hashes          int
		role            any
	}{
		{"a run", "load.data.input=16", 1, nil},
		{"a matrix", "load.data.input=[16, 32]", 2, contract.RoleMatrix},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t, map[string]string{"experiment": smallExperiment, "overrides": row.overrides, "wait": "false"})
			for range 2 {
				if code := d.step(eventually.Context(t)); code != 0 {
					t.Fatalf("exit code %d\n%s", code, d.err.String())
				}
			}
			runs := d.children()
			if len(runs) != 1 || d.result(contract.ResultRuns) != filepath.Base(runs[0]) ||
				d.result(contract.ResultVerdict) != "" ||
				len(strings.Split(d.result(contract.ResultPlanHashes), ",")) != row.hashes {
				t.Fatalf("runs %v, results %q, %q and verdict %q", runs, d.result(contract.ResultRuns),
					d.result(contract.ResultPlanHashes), d.result(contract.ResultVerdict))
			}
			if role := d.srv.Get(
				runs[0])["metadata"].(apitest.Object)["labels"].(apitest.Object)[contract.LabelRole]; role != row.role {
				t.Errorf("its role is %v, want %v", role, row.role)
			}
			d.mayAll()
		})
	}
}

func TestTheEndOfTheTaskAndItsRuns(t *testing.T) {
	for _, row := range []struct {
		name string
		end  func(*apitest.Server)
		want any // spec.status of the run
		says string
	}{
		{"a cancelled PipelineRun cancels them", func(s *apitest.Server) {
			s.Change(benchRuns+starter, func(o apitest.Object) { o["spec"].(apitest.Object)["status"] = "Cancelled" })
		}, "Cancelled", "it was waiting and will not start"},
		{"so does one that is deleted", func(s *apitest.Server) { s.Remove(benchRuns + starter) }, "Cancelled",
			"it was waiting and will not start"},
		{"one that has waited too long lets them go on", func(s *apitest.Server) {
			s.Put(benchTasks+starter+"-experiment", map[string]any{"spec": map[string]any{"status": "TaskRunCancelled",
				"statusMessage": "TaskRun cancelled as the PipelineRun it belongs to has timed out."}})
		}, "PipelineRunPending", "PipelineRun start-1 has reached its timeout; the runs continue"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t, map[string]string{"experiment": smallExperiment})
			ctx, signal := context.WithCancel(eventually.Context(t))
			code := make(chan int)
			go func() { code <- d.step(ctx) }()
			d.awaits("waits in queue")
			row.end(d.srv)
			signal()
			if got := <-code; got != contract.ExitInterrupted {
				t.Errorf("exit code %d", got)
			}
			d.says(row.says)
			if got := d.srv.Get(d.children()[0])["spec"].(apitest.Object)["status"]; got != row.want {
				t.Errorf("the run is %v, want %v", got, row.want)
			}
		})
	}
}

func TestWrongExperimentsMakeNothing(t *testing.T) {
	for _, row := range []struct {
		name   string
		params map[string]string
		want   string
	}{
		{"nothing is given", nil, `no experiment is given: pass its text as param "experiment"`},
		{"an unknown field", map[string]string{"experiment": strings.Replace(smallExperiment, "model:", "models:", 1)},
			"experiment:7:3: spec.models: unknown field"},
		{"an unknown override", map[string]string{"experiment": smallExperiment, "overrides": "nonsense=1"}, "nonsense"},
		{"no document of ours", map[string]string{"experiment": "a: 1"}, "experiment:1:1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t, row.params)
			if code := d.step(eventually.Context(t)); code != contract.ExitUsage {
				t.Errorf("exit code %d", code)
			}
			d.says(row.want)
			if runs := d.children(); len(runs) > 0 {
				t.Errorf("made %v", runs)
			}
		})
	}
}

func TestAnAPIServerThatIsAwayIsWaitedFor(t *testing.T) {
	d := newDesk(t, map[string]string{"experiment": smallExperiment, "wait": "false"})
	d.srv.Down(true)
	code := make(chan int)
	go func() { code <- d.step(eventually.Context(t)) }()
	d.awaits("retrying")
	d.srv.Down(false)
	if got := <-code; got != 0 || len(d.children()) != 1 {
		t.Errorf("exit code %d, runs %v\n%s", got, d.children(), d.err.String())
	}
}

func TestARestartOfTheAPIServerIsLivedThrough(t *testing.T) {
	d := newDesk(t, map[string]string{"experiment": smallExperiment})
	code := make(chan int)
	go func() { code <- d.step(eventually.Context(t)) }()
	d.awaits("waits in queue")
	d.srv.Down(true)
	d.awaits("retrying, the runs continue")
	d.srv.Change(d.children()[0], func(o apitest.Object) {
		delete(o["spec"].(apitest.Object), "status")
		o["status"] = apitest.Object{
			"conditions": []any{apitest.Object{"type": "Succeeded", "status": "True", "reason": "Succeeded"}},
		}
	})
	d.srv.Down(false)
	if got := <-code; got != 0 || d.result(contract.ResultVerdict) != "pass" {
		t.Errorf("exit code %d, verdict %q\n%s", got, d.result(contract.ResultVerdict), d.err.String())
	}
	d.says("the cluster answers again")
}
