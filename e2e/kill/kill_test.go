package kill

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bflow.dev/bflow/e2e/product"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

func TestMain(m *testing.M) { product.Main(m) }

// experiment measures for long enough to be killed in it.
const experiment = `
apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: here}
spec: {platform: kubernetes, mode: plain, engine: {kind: sim}}
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: kill}
spec:
  model: {name: acme/tiny}
  deployment_profile: here
  engine: {kind: sim, sim: {ttft: 10ms, itl: 2ms}}
  execution: {on_invalid: mark}
  load:
    data: {input: 16, output: 8}
    stages: [{name: load, concurrency: 4, duration: 3s}]
`

// begin starts a run and returns once its load is under way. Its engine stalls by then, so that the load goes on until
// something is done to it.
func begin(t *testing.T, p *product.Product) (*product.Command, product.Run) {
	t.Helper()
	cmd, run := beginLoad(t, p)
	stall(t, run)
	return cmd, run
}

// stall lets the engine of a run answer nothing to its end any more.
func stall(t *testing.T, run product.Run) {
	t.Helper()
	run.Inject(runplan.Fault{Kind: runplan.FaultStall})
	eventually.Nil(t, "outcomes on disk, which is once a second", func() error {
		info, err := os.Stat(run.Measurement("stage.spill"))
		if err == nil && info.Size() == 0 {
			err = errors.New("the file is empty")
		}
		return err
	})
}

// beginLoad starts a run whose load goes on for some seconds.
func beginLoad(t *testing.T, p *product.Product) (*product.Command, product.Run) {
	t.Helper()
	p.Write("kill.yaml", experiment)
	cmd := p.Start("run", "--local", "--plain", "kill.yaml")
	return cmd, p.AwaitLoad(20)
}

// installations are both ways to have bflow: each test of the executor runs with either.
func installations() map[string]func(testing.TB) *product.Product {
	return map[string]func(testing.TB) *product.Product{
		"every binary beside bflow": product.New,
		"one file only":             product.NewAlone,
	}
}

func TestAKilledRunIsResumed(t *testing.T) {
	for name, install := range installations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := install(t)
			cmd, run := begin(t, p)
			checkPrograms(t, run, name)
			cmd.Signal(syscall.SIGKILL)
			cmd.Wait()
			run.AwaitNoProcess()
			if s, err := local.StatusOf(run.Dir); err != nil || s.State != local.Interrupted {
				t.Errorf("after the kill: %+v, %v", s.State, err)
			}
			resume(t, p, run)
		})
	}
}

// resume goes on with a run and wants it whole, with what the cut attempt had measured kept beside it.
func resume(t *testing.T, p *product.Product, run product.Run) {
	t.Helper()
	got := p.Run("resume", "--plain", run.ID())
	if got.Code != contract.ExitPass {
		t.Fatalf("resume: exit code %d:\n%s\n%s", got.Code, got.Out, got.Err)
	}
	run.Join()
	if m := run.Report().Measurements[0]; !m.Complete || m.Interrupted {
		t.Errorf("the measurement is not complete: %+v", m.Error)
	}
	if v, err := report.ReadVerdict(run.Dir); err != nil || v.ExitCode != contract.ExitPass {
		t.Errorf("verdict: %+v, %v", v, err)
	}
	h, rows, err := report.ReadRows(run.Measurement("attempt-1/" + contract.FileRequests))
	if err != nil {
		t.Fatalf("rows of the cut attempt: %v", err)
	}
	if h.Attempt != 1 || !h.Interrupted || len(rows) == 0 {
		t.Errorf("%d rows are kept, with header %+v", len(rows), h)
	}
	if left := run.Processes(); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
}

// checkPrograms wants the run to say what stood in for the images.
func checkPrograms(t *testing.T, run product.Run, installation string) {
	t.Helper()
	want := "sibling"
	if installation == "one file only" {
		want = "self"
	}
	s, err := local.StatusOf(run.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range s.Tasks {
		for _, r := range task.Runs {
			for _, st := range r.Steps {
				if st.Program != want {
					t.Errorf("step %q of %q runs as %q, want %q", st.Name, task.Name, st.Program, want)
				}
			}
		}
	}
}

func TestAKilledPartMakesTheRunRed(t *testing.T) {
	for _, row := range []struct {
		name    string
		process string // by a word of its command line
		code    int
		says    string
		resumed bool
	}{
		{name: "the load generator", process: contract.LoadGen, code: contract.ExitFail,
			says: "it was killed, by somebody or because memory ran out", resumed: true},
		{name: "the engine", process: "sim-engine", code: contract.ExitUnhealthy,
			says: "the engine ended with signal: killed"},
		{name: "the supervisor of the engine, which takes the engine with it", process: contract.Provision,
			code: contract.ExitUnhealthy, says: "the engine ended with the end of its supervisor"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := product.New(t)
			cmd, run := begin(t, p)
			if err := syscall.Kill(run.PID(row.process), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			got := cmd.Wait()
			if got.Code != row.code || !strings.Contains(got.Out+got.Err, row.says) {
				t.Errorf("exit code %d, want %d and %q:\n%s\n%s", got.Code, row.code, row.says, got.Out, got.Err)
			}
			if strings.Contains(got.Err, "goroutine ") {
				t.Errorf("a stack trace was printed:\n%s", got.Err)
			}
			if left := run.Processes(); len(left) > 0 {
				t.Errorf("processes are left: %q", left)
			}
			if row.resumed {
				checkPartial(t, run, `load-gen was killed (signal 9) in stage "load" after `)
				resume(t, p, run)
			}
		})
	}
}

// checkPartial wants the report that a run has made by itself of a load that was killed.
func checkPartial(t *testing.T, run product.Run, says string) {
	t.Helper()
	r := run.Report()
	m := r.Measurements[0]
	if r.Verdict.ExitCode != contract.ExitFail || !strings.HasPrefix(m.Error, says) ||
		!strings.Contains(strings.Join(r.Verdict.Reasons, "\n"), says) {
		t.Errorf("verdict %+v, error %q, want %q", r.Verdict, m.Error, says)
	}
	if m.Complete || !m.Interrupted || r.Run.ID != run.ID() {
		t.Errorf("run %q is complete: %v, interrupted: %v", r.Run.ID, m.Complete, m.Interrupted)
	}
	for _, name := range []string{contract.FileReportHTML, contract.FileSummary, contract.FileReportV02,
		contract.FileVerdict} {
		if _, err := os.Stat(filepath.Join(run.Dir, name)); err != nil {
			t.Error(err)
		}
	}
	if err := checksums.Verify(run.Dir, nil); err != nil {
		t.Error(err)
	}
}

func TestAnInterruptedRunIsPartialAndMarked(t *testing.T) {
	t.Parallel()
	p := product.New(t)
	cmd, run := begin(t, p)
	cmd.Signal(os.Interrupt)
	got := cmd.Wait()
	if got.Code != contract.ExitInterrupted {
		t.Errorf("exit code %d:\n%s\n%s", got.Code, got.Out, got.Err)
	}
	s, err := local.StatusOf(run.Dir)
	if err != nil || s.State != local.Cancelled {
		t.Errorf("state %q, %v", s.State, err)
	}
	finish := slices.IndexFunc(s.Tasks, func(t local.Task) bool { return t.Name == contract.Finish })
	if finish < 0 || s.Tasks[finish].State != local.Succeeded {
		t.Errorf("finish did not run: %+v", s.Tasks)
	}
	h, rows := run.Rows()
	if !h.Interrupted || len(rows) == 0 {
		t.Errorf("%d rows, header %+v", len(rows), h)
	}
	if left := run.Processes(); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
	resume(t, p, run)
}
