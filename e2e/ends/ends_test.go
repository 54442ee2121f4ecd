package ends

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bflow.dev/bflow/e2e/product"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/verdict"
)

func TestMain(m *testing.M) { product.Main(m) }

// end is a row, and what happens while it goes on; nil = nothing.
type end struct {
	End
	act act
}

// act does something to a run that goes on and returns how bflow ended, which act may have started anew.
type act func(p *product.Product, cmd *product.Command) product.Result

// disturbed are ends that somebody or something brought about.
func disturbed() []end {
	return []end{
		{End{Name: "somebody ends it while it loads", Set: []string{endless}, Code: contract.ExitInterrupted,
			Says: `stopping: cleaning up`}, signalled(syscall.SIGINT)},
		{End{Name: "the machine shuts down while it loads", Set: []string{endless}, Code: contract.ExitInterrupted,
			Says: `stopping: cleaning up`}, signalled(syscall.SIGTERM)},
		{End{Name: "somebody else cancels it", Set: []string{endless}, Code: contract.ExitInterrupted,
			Says: `, or see what was measured with bflow report `}, cancelled},
		{End{Name: "bflow is killed, and the run resumed", Word: verdict.Pass, Says: `verdict of `}, resumed},
		{End{Name: "the load generator is killed", Set: []string{endless}, Code: contract.ExitFail, Word: verdict.Fail},
			killed("load-gen")},
		{End{Name: "the engine is killed",
			Set:  []string{"load.stages=[{concurrency: 2, duration: 10m, stop: [{kind: max_errors, count: 5}]}]"},
			Code: contract.ExitUnhealthy, Word: verdict.Fail}, killed("sim-engine")},
		{End{Name: "its time is over", Set: []string{endless, "execution.timeout=8s"}, Code: contract.ExitFail,
			Says: `timeouts.tasks of 8s is over`}, nil},
	}
}

func TestARunEndsAsTheTableSays(t *testing.T) {
	rows := disturbed()
	for _, e := range slices.Concat(Judged(), Unfit(), InvalidInput()) {
		rows = append(rows, end{e, nil})
	}
	for _, e := range rows {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			for range attempts {
				p := product.New(t)
				p.Write("ends.yaml", Experiment)
				cmd := p.Start(append([]string{"run", "--local", "--plain", "ends.yaml"}, Sets(e.Set)...)...)
				var got product.Result
				if e.act == nil {
					got = cmd.Wait()
				} else {
					got = e.act(p, cmd)
				}
				if e.Quiet && Busy(got.Out) {
					continue
				}
				e.check(t, p, got)
				return
			}
			t.Skipf("this machine was too busy for it %d times", attempts)
		})
	}
}

// attempts is how often a row runs that a busy machine ends in another way.
const attempts = 5

// check compares how a run has ended with the row.
func (e end) check(t *testing.T, p *product.Product, got product.Result) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("bflow printed:\n%s\n%s", got.Out, got.Err)
		}
	}()
	if got.Code != e.Code {
		t.Errorf("exit code %d, want %d", got.Code, e.Code)
	}
	if !regexp.MustCompile(e.Says).MatchString(got.Out + got.Err) {
		t.Errorf("nothing printed says %q", e.Says)
	}
	if strings.Contains(got.Err, "goroutine ") {
		t.Error("a stack trace was printed")
	}
	if strings.Count(got.Err, "the verdict is") > 1 {
		t.Error("the verdict is told twice beside the table")
	}
	word := ""
	for _, run := range p.Every() {
		if left := run.Processes(); len(left) > 0 {
			t.Errorf("processes are left: %q", left)
		}
		if run.Has(contract.FileReport) {
			word = WordOf(run.Report())
		}
		if status := p.Run("watch", run.ID()); status.Code != e.Code {
			t.Errorf("bflow watch ends with %d, want %d", status.Code, e.Code)
		}
	}
	if word != e.Word {
		t.Errorf("verdict %q, want %q", word, e.Word)
	}
}

// signalled sends a signal to bflow once the load has begun.
func signalled(sig os.Signal) act {
	return func(p *product.Product, cmd *product.Command) product.Result {
		p.AwaitLoad(4)
		cmd.Signal(sig)
		return cmd.Wait()
	}
}

// cancelled tells another bflow to cancel the run.
func cancelled(p *product.Product, cmd *product.Command) product.Result {
	run := p.AwaitLoad(4)
	p.Run("cancel", run.ID())
	return cmd.Wait()
}

// killed kills a process of the run.
func killed(word string) act {
	return func(p *product.Product, cmd *product.Command) product.Result {
		_ = syscall.Kill(p.AwaitLoad(4).PID(word), syscall.SIGKILL)
		return cmd.Wait()
	}
}

// resumed kills bflow, and goes on with the run when everything of it has ended.
func resumed(p *product.Product, cmd *product.Command) product.Result {
	run := p.AwaitLoad(4)
	cmd.Signal(syscall.SIGKILL)
	cmd.Wait()
	run.AwaitNoProcess()
	return p.Run("resume", "--plain", run.ID())
}

// TestAMatrixEndsAsItsPointsDo: the first of 2, 3, 1, 4, 5, 6 that a point ended with.
func TestAMatrixEndsAsItsPointsDo(t *testing.T) {
	for _, row := range Matrices() {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			p := product.New(t)
			p.Write("ends.yaml", Experiment+row.Axes())
			got := p.Run(append([]string{"run", "--local", "--plain", "ends.yaml"}, Sets(row.Set)...)...)
			if runs := len(p.Every()); got.Code != row.Code || runs != row.Runs || !strings.Contains(got.Out+got.Err, row.Says) {
				t.Errorf("exit code %d of %d runs, want %d of %d, and %q:\n%s\n%s",
					got.Code, runs, row.Code, row.Runs, row.Says, got.Out, got.Err)
			}
		})
	}
}

// TestAMatrixIsCancelledByItsName: its runs share an executor, which takes a second signal for impatience.
func TestAMatrixIsCancelledByItsName(t *testing.T) {
	t.Parallel()
	p := product.New(t)
	p.Write("ends.yaml", Experiment+"  matrix: {max_parallel: 2, axes: {engine.sim.ttft: [10ms, 12ms]}}\n")
	cmd := p.Start("run", "--local", "--plain", "ends.yaml", "--set", endless)
	eventually.Nil(t, "two runs that load", func() error {
		for _, run := range p.Every() {
			if !run.Has("measurements/0/progress.json") {
				return fmt.Errorf("%s does not load yet", run.ID())
			}
		}
		if n := len(p.Every()); n != 2 {
			return fmt.Errorf("%d runs", n)
		}
		return nil
	})
	name := regexp.MustCompile(`ends-\d+-\d+-\S+`).FindString(p.Run("list").Out)
	if got := p.Run("cancel", name); got.Code != contract.ExitPass {
		t.Fatalf("bflow cancel %s: exit code %d:\n%s", name, got.Code, got.Err)
	}
	if got := cmd.Wait(); got.Code != contract.ExitInterrupted {
		t.Errorf("exit code %d:\n%s\n%s", got.Code, got.Out, got.Err)
	}
	for _, run := range p.Every() {
		s, err := local.StatusOf(run.Dir)
		if err != nil || s.State != local.Cancelled || s.Message != "the run was cancelled" {
			t.Errorf("%s is %s: %q, %v", run.ID(), s.State, s.Message, err)
		}
	}
}

// TestVerbsOfARunThatHasEnded tells what they end with, whatever the run did.
func TestVerbsOfARunThatHasEnded(t *testing.T) {
	p := product.New(t)
	p.Write("ends.yaml", Experiment)
	if got := p.Run("run", "--local", "--plain", "ends.yaml", "--set", missed, "--set",
		fail); got.Code != contract.ExitBreach {
		t.Fatalf("exit code %d:\n%s%s", got.Code, got.Out, got.Err)
	}
	run := p.Only()
	for _, row := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"a report is made of any run", []string{"report", run.ID()}, contract.ExitPass, "verdict of .*exit code 5"},
		{"an export is made of any run", []string{"export", run.ID(), "--format", "csv"}, contract.ExitPass, "stage"},
		{"whoever watches ends as it did", []string{"watch", run.ID()}, contract.ExitBreach, "Failed"},
		{"a status is one of any run", []string{"status", run.ID()}, contract.ExitPass, "Verdict: +(fail|invalid)"},
		{"the steps that are left are done again and end so again", []string{"resume", "--plain", run.ID()},
			contract.ExitBreach, "exit code 5"},
		{"the same plan ends so again", []string{"rerun", "--plain", run.ID()}, contract.ExitBreach, "exit code 5"},
		{"one that has ended is not cancelled", []string{"cancel", run.ID()}, contract.ExitFail, "no executor is running it"},
		{"a format that there is not", []string{"export", run.ID(), "--format", "cvs"}, contract.ExitUsage,
			`did you mean "csv"`},
		{"a run that there is not", []string{"status", "none"}, contract.ExitUsage, "no such run"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := p.Run(row.args...); got.Code != row.code || !regexp.MustCompile(row.says).MatchString(got.Out+got.Err) {
				t.Errorf("bflow %q: exit code %d, want %d and %q:\n%s\n%s",
					row.args, got.Code, row.code, row.says, got.Out, got.Err)
			}
		})
	}
}

// TestAnImportJudgesNothing: another tool has measured it, and nobody has said what would be good enough.
func TestAnImportJudgesNothing(t *testing.T) {
	samples, err := filepath.Abs("../../report/imports/testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, path string
		code       int
		says       string
	}{
		{"what GuideLLM has written", "guidellm-0.8.1/benchmarks.json", contract.ExitPass, "not judged"},
		{"what an older GuideLLM has written", "guidellm-0.3.1", contract.ExitPass, "not judged"},
		{"what AIPerf has written", "aiperf-0.13.0", contract.ExitPass, "not judged"},
		{"requests that failed", "aiperf-0.13.0-failures", contract.ExitPass, "not judged"},
		{"what inference-perf has written", "inference-perf-0.7.0", contract.ExitPass, "not judged"},
		{"a file that is none of theirs", "README.md", contract.ExitUsage, ""},
		{"a file that there is not", "nowhere.json", contract.ExitUsage, "nowhere.json"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := product.New(t)
			got := p.Run("import", filepath.Join(samples, row.path), "--name", "theirs")
			if got.Code != row.code || !strings.Contains(got.Out+got.Err, row.says) {
				t.Fatalf("exit code %d, want %d and %q:\n%s\n%s", got.Code, row.code, row.says, got.Out, got.Err)
			}
			if row.code != contract.ExitPass {
				return
			}
			run := p.Only()
			if v := run.Report().Verdict; v.Verdict != verdict.NotJudged || v.ExitCode != contract.ExitPass {
				t.Errorf("verdict %+v", v)
			}
			if list := p.Run("list"); !strings.Contains(list.Out, verdict.NotJudged) {
				t.Errorf("bflow list:\n%s", list.Out)
			}
		})
	}
}
