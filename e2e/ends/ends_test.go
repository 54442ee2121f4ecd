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
	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/verdict"
)

func TestMain(m *testing.M) { product.Main(m) }

const experiment = `
apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: here}
spec: {platform: kubernetes, mode: plain, engine: {kind: sim}}
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: ends}
spec:
  model: {name: acme/tiny}
  deployment_profile: here
  engine: {kind: sim, sim: {ttft: 10ms, itl: 1ms}}
  execution: {on_invalid: mark}
  load: {data: {input: 8, output: 4}, stages: [{rate: 20, duration: 2s}]}
`

func TestARunEndsAsTheTableSays(t *testing.T) {
	for _, e := range slices.Concat(judged(), unfit(), disturbed(), refused()) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			for range attempts {
				p := product.New(t)
				p.Write("ends.yaml", experiment)
				cmd := p.Start(append([]string{"run", "--local", "--plain", "ends.yaml"}, sets(e.set)...)...)
				var got product.Result
				if e.act == nil {
					got = cmd.Wait()
				} else {
					got = e.act(p, cmd)
				}
				if e.quiet && busy(got.Out) {
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

// busy says whether what a run has printed is about other work on this machine.
func busy(text string) bool {
	return slices.ContainsFunc(product.FindingsOfThisMachine(), func(reason string) bool { return strings.Contains(text, reason) })
}

// sets are overrides as arguments.
func sets(overrides []string) (args []string) {
	for _, o := range overrides {
		args = append(args, "--set", o)
	}
	return args
}

// check compares how a run has ended with the row.
func (e end) check(t *testing.T, p *product.Product, got product.Result) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("bflow printed:\n%s\n%s", got.Out, got.Err)
		}
	}()
	if got.Code != e.code {
		t.Errorf("exit code %d, want %d", got.Code, e.code)
	}
	if !regexp.MustCompile(e.says).MatchString(got.Out + got.Err) {
		t.Errorf("nothing printed says %q", e.says)
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
			word = wordOf(run.Report())
		}
		if status := p.Run("watch", run.ID()); status.Code != e.code {
			t.Errorf("bflow watch ends with %d, want %d", status.Code, e.code)
		}
	}
	if word != e.word {
		t.Errorf("verdict %q, want %q", word, e.word)
	}
}

// wordOf is the word of a verdict as it would be on a machine that is not busy with other tests.
func wordOf(r *report.Report) string {
	if r.Verdict.Verdict != verdict.Invalid {
		return r.Verdict.Verdict
	}
	if !busy(strings.Join(r.Verdict.Reasons, " ")) {
		return verdict.Invalid
	}
	var codes []int
	for i := range r.Measurements {
		m := &r.Measurements[i]
		for j := range m.Pooled.Stages {
			s := m.Pooled.Stages[j]
			if s.InvalidReasons = slices.DeleteFunc(slices.Clone(s.InvalidReasons), product.OfThisMachine); len(s.InvalidReasons) == 0 {
				s.Valid = true
			}
			if s.Planned.Measure {
				codes = append(codes, codeOf(verdict.Stage(&s)))
			}
		}
	}
	return verdict.Word(verdict.ExitCode(codes...))
}

// codeOf is the code of a word of a stage.
func codeOf(word string) int {
	switch word {
	case verdict.Pass:
		return contract.ExitPass
	case verdict.Invalid:
		return contract.ExitInvalid
	case verdict.Inconclusive:
		return contract.ExitInconclusive
	}
	return contract.ExitFail
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
	const (
		well    = "10ms"
		slow    = "300ms" // misses the objective
		kinds   = "engine.sim.faults"
		nothing = "[]"
	)
	fault := func(kind string) string { return "[{kind: " + kind + "}]" }
	for _, row := range []struct {
		name, axis string
		values     []string
		set        []string
		code, runs int
		says       string
	}{
		{"all are well", "engine.sim.ttft", []string{well, "12ms"}, []string{held}, contract.ExitPass, 2, "verdict of ends-m2-"},
		{"one misses its objective, to be reported", "engine.sim.ttft", []string{well, slow}, []string{"slo.ttft.p50=100ms"}, contract.ExitPass, 2, "objective ≤ 100 ms"},
		{"one misses its objective", "engine.sim.ttft", []string{well, slow}, []string{"slo.ttft.p50=100ms", fail}, contract.ExitBreach, 2, "objective ≤ 100 ms"},
		{"one must not be believed", kinds, []string{nothing, fault("short_output")}, []string{blind, strict}, contract.ExitInvalid, 2, "token_mismatch"},
		{"one is marked", kinds, []string{nothing, fault("short_output")}, []string{blind}, contract.ExitPass, 2, "token_mismatch"},
		{"one fails and one must not be believed", kinds, []string{fault("http_500"), fault("short_output")}, []string{blind, strict}, contract.ExitFail, 2, "no request succeeded"},
		{"one is unfit and one fails", kinds, []string{fault("wrong_model"), fault("http_500")}, []string{blind}, contract.ExitUnhealthy, 2, "it serves"},
		{"the first fails, and the rest is not begun", kinds, []string{fault("http_500"), nothing}, []string{blind, "matrix.fail_fast=true"}, contract.ExitFail, 1, "no request succeeded"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := product.New(t)
			p.Write("ends.yaml", experiment+"  matrix: {axes: {"+row.axis+": ["+strings.Join(row.values, ", ")+"]}}\n")
			got := p.Run(append([]string{"run", "--local", "--plain", "ends.yaml"}, sets(row.set)...)...)
			if runs := len(p.Every()); got.Code != row.code || runs != row.runs || !strings.Contains(got.Out+got.Err, row.says) {
				t.Errorf("exit code %d of %d runs, want %d of %d, and %q:\n%s\n%s", got.Code, runs, row.code, row.runs, row.says, got.Out, got.Err)
			}
		})
	}
}

// TestAMatrixIsCancelledByItsName: its runs share an executor, which takes a second signal for impatience.
func TestAMatrixIsCancelledByItsName(t *testing.T) {
	t.Parallel()
	p := product.New(t)
	p.Write("ends.yaml", experiment+"  matrix: {max_parallel: 2, axes: {engine.sim.ttft: [10ms, 12ms]}}\n")
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
	p.Write("ends.yaml", experiment)
	if got := p.Run("run", "--local", "--plain", "ends.yaml", "--set", missed, "--set", fail); got.Code != contract.ExitBreach {
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
		{"the steps that are left are done again and end so again", []string{"resume", "--plain", run.ID()}, contract.ExitBreach, "exit code 5"},
		{"the same plan ends so again", []string{"rerun", "--plain", run.ID()}, contract.ExitBreach, "exit code 5"},
		{"one that has ended is not cancelled", []string{"cancel", run.ID()}, contract.ExitFail, "no executor is running it"},
		{"a format that there is not", []string{"export", run.ID(), "--format", "cvs"}, contract.ExitUsage, `did you mean "csv"`},
		{"a run that there is not", []string{"status", "none"}, contract.ExitUsage, "no such run"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := p.Run(row.args...); got.Code != row.code || !regexp.MustCompile(row.says).MatchString(got.Out+got.Err) {
				t.Errorf("bflow %q: exit code %d, want %d and %q:\n%s\n%s", row.args, got.Code, row.code, row.says, got.Out, got.Err)
			}
		})
	}
}

// TestAnImportJudgesNothing: another tool has measured it, and nobody has said what would be good enough.
func TestAnImportJudgesNothing(t *testing.T) {
	samples, err := filepath.Abs("../../tasks/report/imports/testdata")
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
