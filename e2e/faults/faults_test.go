package faults

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bflow.dev/bflow/e2e/product"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/verdict"
)

func TestMain(m *testing.M) { product.Main(m) }

// experiment is the run that meets every fault: answers of 8 tokens after 24 ms, four at a time.
const experiment = `
apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: here}
spec: {platform: kubernetes, mode: plain, engine: {kind: sim}}
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: fault}
spec:
  model: {name: acme/tiny}
  deployment_profile: here
  engine: {kind: sim, sim: {ttft: 10ms, itl: 2ms}}
  execution: {on_invalid: mark}
  load:
    data: {input: 16, output: 8}
    stages: [{name: load, concurrency: 4, duration: 1500ms}]
`

// Timeouts of requests: patient is for what takes its time and must not be taken for a stall on a busy machine,
// impatient for what takes longer than anybody waits.
const (
	patient   = eventually.Limit
	impatient = 2 * time.Second
)

// later is how long the load lasts that meets a fault in its middle, which comes as soon as the test has seen some
// answers.
const later = 3 * time.Second

func TestEveryKindOfFaultHasItsRow(t *testing.T) {
	var kinds []string
	for _, r := range table() {
		kinds = append(kinds, r.kind)
	}
	if want := runplan.FaultKinds(); !slices.Equal(kinds, want) {
		t.Errorf("rows of %q, want %q", kinds, want)
	}
}

func TestFaults(t *testing.T) {
	for _, r := range table() {
		t.Run(r.kind+" from the start", func(t *testing.T) {
			t.Parallel()
			s := start(t, r.kind, []runplan.Fault{{Kind: r.kind, Duration: span(r.kind, impatient)}})
			s.check(t, r.atStart, false)
		})
		t.Run(r.kind+" in the middle of the load", func(t *testing.T) {
			t.Parallel()
			s := start(t, r.kind, nil)
			s.AwaitLoad(4).Inject(runplan.Fault{Kind: r.kind, Duration: span(r.kind, later+2*impatient)})
			s.check(t, r.later, true)
		})
	}
}

// span is how long a fault lasts: a freeze, which must have an end, this long, and every other for the rest of the run.
// One in the middle of the load has to outlast the last request, or a thaw meets some of them just before their
// deadline.
func span(kind string, freeze time.Duration) runplan.Duration {
	if kind == runplan.FaultFreeze {
		return runplan.Duration(freeze)
	}
	return 0
}

// planned returns the plan of the experiment as JSON; it is made once.
func planned(t *testing.T) []byte {
	t.Helper()
	once.Do(func() {
		p := product.New(t)
		p.Write("fault.yaml", experiment)
		got := p.Run("plan", "fault.yaml", "-o", "json")
		var plans []json.RawMessage
		if err := json.Unmarshal([]byte(got.Out), &plans); err != nil || len(plans) != 1 {
			t.Fatalf("planning: %v: %s%s", err, got.Out, got.Err)
		}
		text = plans[0]
	})
	return text
}

var (
	once sync.Once
	text []byte
)

// subject is a run under way.
type subject struct {
	*product.Product
	cmd *product.Command
}

// start starts a run that has the faults from the start, or that is to meet one of that kind later.
func start(t *testing.T, kind string, faults []runplan.Fault) subject {
	t.Helper()
	p := product.New(t)
	plan, err := runplan.Decode(planned(t))
	if err != nil {
		t.Fatal(err)
	}
	plan.Deployment.Engine.Sim.Faults = faults
	plan.Timeouts.Ready = runplan.Duration(patient)
	if kind == runplan.FaultNotReady && len(faults) > 0 {
		plan.Timeouts.Ready = runplan.Duration(3 * time.Second)
	}
	m := &plan.Measurements[0]
	m.API.Timeout = runplan.Duration(patient)
	if kind == runplan.FaultStall || kind == runplan.FaultFreeze && len(faults) == 0 {
		m.API.Timeout = runplan.Duration(impatient)
	}
	if len(faults) == 0 {
		m.Stages[0].Duration = runplan.Duration(later)
	}
	if err := runplan.Identify(plan); err != nil {
		t.Fatal(err)
	}
	data, err := runplan.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	p.Write("plan.json", string(data))
	return subject{p, p.Start("run", "--local", "--plain", "plan.json")}
}

// check waits for the end of the run and compares it with want. mixed: requests before the fault were well.
func (s subject) check(t *testing.T, want outcome, mixed bool) {
	t.Helper()
	got := s.cmd.Wait()
	run := s.Only()
	defer func() {
		if t.Failed() {
			t.Logf("bflow printed:\n%s\n%s", got.Out, got.Err)
		}
	}()
	if got.Code != want.exit {
		t.Errorf("exit code %d, want %d", got.Code, want.exit)
	}
	if !strings.Contains(got.Out+got.Err, want.says) {
		t.Errorf("nothing printed says %q", want.says)
	}
	if left := run.Processes(); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
	checkTask(t, run, want.task)
	if want.status == "" {
		if run.Has(contract.FileReport) {
			t.Error("there is a report of a run that had no load")
		}
		return
	}
	checkRows(t, run, want, mixed)
	checkVerdict(t, run, want)
}

// checkTask wants the run to have been stopped by that task, or by none.
func checkTask(t *testing.T, run product.Run, task string) {
	t.Helper()
	status, err := local.StatusOf(run.Dir)
	if err != nil {
		t.Fatal(err)
	}
	stopped := ""
	for _, s := range status.Tasks {
		if s.State == local.Failed && s.Name != contract.MLflowPush && stopped == "" {
			stopped = s.Name
		}
	}
	if stopped != task {
		t.Errorf("the run was stopped by %q, want %q", stopped, task)
	}
}

// checkRows wants every request that did not go well to have gone the way of want; without a mixture, every request.
func checkRows(t *testing.T, run product.Run, want outcome, mixed bool) {
	t.Helper()
	met := 0
	for _, row := range rowsOf(run, want, mixed) {
		if row.Status == report.StatusCut || row.Status == report.StatusCancelled {
			continue // in flight at the end of the stage
		}
		if row.Status == want.status && row.ErrorClass == want.class {
			met++
		} else if !mixed || row.Status != report.StatusOK && !aftermath(want, row) {
			t.Fatalf("row %q is %s %q (%s), want %s %q", row.ID, row.Status, row.ErrorClass, row.Error, want.status, want.class)
		}
		if row.Status == report.StatusOK && want.finding != "token_mismatch" && *row.TokensOut != 8 {
			t.Fatalf("row %q has %d tokens, want 8", row.ID, *row.TokensOut)
		}
	}
	if met == 0 {
		t.Errorf("no request is %s %q", want.status, want.class)
	}
}

// rowsOf returns the rows, joined with what the engine says where any can be ok.
func rowsOf(run product.Run, want outcome, mixed bool) []report.Row {
	if mixed || want.status == report.StatusOK {
		return run.Join()
	}
	_, rows := run.Rows()
	return rows
}

// aftermath is what a crash makes of the requests in flight, before the others find no server.
func aftermath(want outcome, row report.Row) bool {
	return want.class == report.ErrDial && row.ErrorClass == report.ErrReset
}

func checkVerdict(t *testing.T, run product.Run, want outcome) {
	t.Helper()
	v := run.Report().Verdict
	stage := run.Report().Measurements[0].Pooled.Stages[0]
	found := slices.DeleteFunc(slices.Clone(stage.InvalidReasons), product.OfThisMachine)
	word := v.Verdict
	if word == verdict.Invalid && len(found) == 0 {
		word = verdict.Pass
	}
	if word != want.verdict {
		t.Errorf("verdict %s (%q), want %s", v.Verdict, v.Reasons, want.verdict)
	}
	if want.finding != "" && !slices.Contains(found, want.finding) {
		t.Errorf("findings %q, want %q", found, want.finding)
	}
	if v.ExitCode != want.exit {
		t.Errorf("the verdict's exit code is %d, want %d", v.ExitCode, want.exit)
	}
	if stage.ErrorRate == nil {
		t.Error("the stage has no error rate")
	}
}

// TestNothingButErrorsIsNeverGreen lets every request of the load fail, which the smoketest did not foresee.
func TestNothingButErrorsIsNeverGreen(t *testing.T) {
	for _, kind := range []string{runplan.FaultHTTP500, runplan.FaultReset, runplan.FaultEmpty} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := product.New(t)
			p.Write("fault.yaml", experiment)
			got := p.Run("run", "--local", "--plain", "fault.yaml", "--set", "execution.verify_completions=false",
				"--set", fmt.Sprintf("engine.sim.faults=[{kind: %s}]", kind))
			if got.Code != contract.ExitFail || !strings.Contains(got.Out, "no request succeeded") ||
				!strings.Contains(got.Out, "verdict of") {
				t.Errorf("exit code %d:\n%s\n%s", got.Code, got.Out, got.Err)
			}
			if v := p.Only().Report().Verdict; v.Verdict != verdict.Fail {
				t.Errorf("verdict %q", v.Verdict)
			}
		})
	}
}
