package external

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/internal/leakcheck"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// TestMain lets the test binary be the supervisor, and a load-gen to kill.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == HoldWord:
		os.Exit(
			step.Main(contract.LoadGen,
				func(ctx context.Context, s step.Streams, args []string) error { return Hold(ctx, s, args[1:]) }))
	case len(os.Args) > 1 && os.Args[1] == "victim":
		os.Exit(step.Main("victim", func(ctx context.Context, _ step.Streams, args []string) error {
			return Run(ctx, makeTask(args[1], args[2]))
		}))
	}
	leakcheck.Main(m)
}

// makeTask is one measurement of two stages by a tool that is the shell script at program.
func makeTask(runDir, program string) Task {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	plan := &runplan.RunPlan{Hash: "h", Deployment: runplan.Deployment{Model: runplan.Model{Name: "tiny"}},
		Measurements: []runplan.Measurement{{Name: "load", Tool: "guidellm", Runner: runplan.RunnerExternal, Samples: 1,
			External: map[string]any{"profile": "constant"},
			Stages: []runplan.Stage{{Name: "warm-up", Shape: runplan.ShapeOpen, Rate: 1,
				Duration: runplan.Duration(time.Second)},
				{Name: "rate-10", Measure: true, Shape: runplan.ShapeOpen, Rate: 10, Duration: runplan.Duration(time.Second)}}}}}
	return Task{Plan: plan, RunDir: runDir, RunID: "r", Attempt: 1, Endpoint: "http://server:8000", Err: os.Stderr,
		Env: func(string) string { return "" }, Program: program, Holder: []string{self, HoldWord}, Reader: readLines}
}

// readLines is a reader of a format of our own: a row per line, "<intended> <send> <first> <end>" in ms.
func readLines(_ context.Context, docs []tools.Document) (*tools.Imported, error) {
	s := tools.ImportedStage{StartNS: 1, EndNS: 2, DrainEndNS: 3, Ended: "duration", Whole: true}
	var rows []tools.ImportedRow
	for line := range strings.SplitSeq(strings.TrimSpace(string(docs[0].Data)), "\n") {
		var at [4]int64
		for i, f := range strings.Fields(line) {
			ms, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("reading %q: %w", docs[0].Path, err)
			}
			at[i] = ms * 1e6
		}
		tokens := 3
		rows = append(rows, tools.ImportedRow{Row: report.Row{Status: report.StatusOK, Phase: report.PhaseMeasured,
			TIntended: at[0], TSend: &at[1], TFirst: &at[2],
			TLast: &at[3], TEnd: &at[3], TokensOut: &tokens}})
	}
	n := len(rows)
	rows[0].GapsMS = []float64{10, 11}
	s.Rows = func(context.Context) iter.Seq2[*tools.ImportedRow, error] {
		return func(yield func(*tools.ImportedRow, error) bool) {
			for i := range rows {
				if row := rows[i]; !yield(&row, nil) {
					return
				}
			}
		}
	}
	s.Counts = report.Counts{Total: n, All: n, ByStatus: map[string]int{report.StatusOK: n}}
	return &tools.Imported{Tool: "guidellm", Version: "0.8.1", TokenCountSource: "usage", AnchorUnixNS: 1e18,
		Stages: []tools.ImportedStage{s}}, nil
}

// script writes a tool that is a shell script; $OUT is the report that it is told to write.
func script(t *testing.T, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "guidellm")
	head := "#!/bin/sh\nfor a in \"$@\"; do case $a in *benchmarks.json*) OUT=$(echo \"$a\" | sed " +
		"'s/.*\"path\":\"\\([^\"]*\\)\".*/\\1/');; esac; done\n"
	if err := os.WriteFile(path, []byte(head+lines), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func summary(t *testing.T, runDir string) report.LoadGen {
	t.Helper()
	var s report.LoadGen
	if err := step.ReadJSON(filepath.Join(report.MeasurementDir(runDir, 0), contract.FileLoadGen), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestResultsOfAToolBecomeThoseOfTheMeasurement(t *testing.T) {
	task := makeTask(t.TempDir(), script(t, "echo working; printf '100 150 160 180\\n0 1 11 31\\n' > $OUT\n"))
	if err := Run(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	dir := report.MeasurementDir(task.RunDir, 0)
	header, rows, err := report.ReadRows(filepath.Join(dir, contract.FileRequests))
	if err != nil || len(rows) != 2 || rows[0].TIntended != 0 || rows[0].Stage != 1 {
		t.Fatalf("rows %+v, %v", rows, err)
	}
	if header.Tool != "guidellm" || header.ToolVersion != "0.8.1" || header.AnchorUnixNS != 1e18 {
		t.Errorf("header %+v", header)
	}
	stages, err := report.ReadStages(filepath.Join(dir, contract.FileStages))
	if err != nil || len(stages) != 1 {
		t.Fatalf("stages %+v, %v", stages, err)
	}
	s := stages[0]
	if s.Planned.Name != "rate-10" || s.Metrics["ttft"].Mean != 10 || s.Metrics["itl"].N != 2 ||
		s.Metrics["ttft_intended"].Max != 60 {
		t.Errorf("stage %+v", s)
	}
	if len(s.Checks) == 0 || s.Checks[0].Name != "sched_lag_p99_ms" || s.Checks[0].OK {
		t.Errorf("a tool that sends 50 ms late is valid: %+v", s.Checks)
	}
	if values, err := report.ReadHistograms(filepath.Join(dir, contract.FileHistograms)); err != nil || len(values) == 0 {
		t.Errorf("%d distributions, %v", len(values), err)
	}
	sum := summary(t, task.RunDir)
	if !sum.Complete || sum.TokenCountSource != "usage" ||
		!strings.Contains(strings.Join(sum.Notes, "\n"), "guidellm 0.8.1") {
		t.Errorf("summary %+v", sum)
	}
	if log, err := os.ReadFile(filepath.Join(dir, LogFile)); err != nil || string(log) != "working\n" {
		t.Errorf("log %q, %v", log, err)
	}
}

func TestWhatAToolDoesNotSayIsAbsent(t *testing.T) {
	task := makeTask(t.TempDir(), script(t, "printf '5 5 15 35\\n9 9 19 39\\n' > $OUT\n"))
	if err := Run(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	stages, err := report.ReadStages(filepath.Join(report.MeasurementDir(task.RunDir, 0), contract.FileStages))
	if err != nil || stages[0].Metrics["ttft"].Mean != 10 {
		t.Fatalf("stages %+v, %v", stages, err)
	}
	for _, name := range []string{"sched_lag", "ttft_intended", "e2e_intended", "queue_wait", "dial"} {
		if m, ok := stages[0].Metrics[name]; ok {
			t.Errorf("%s is %+v although the rows hold no intended send and no waits", name, m)
		}
	}
}

func TestAToolThatFailsLeavesItsReason(t *testing.T) {
	task := makeTask(t.TempDir(), script(t, "echo no tokenizer >&2; exit 7\n"))
	if err := Run(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	if sum := summary(t, task.RunDir); sum.Complete || !strings.Contains(sum.Error, "exit status 7: no tokenizer") {
		t.Errorf("summary %+v", sum)
	}
}

func TestResultsOfAToolThatFailedAfterwardsCount(t *testing.T) {
	task := makeTask(t.TempDir(), script(t, "printf '0 1 11 31\\n' > $OUT; exit 1\n"))
	if err := Run(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	if sum := summary(t, task.RunDir); !sum.Complete ||
		!strings.Contains(sum.Notes[0], "failed after it had left results") {
		t.Errorf("summary %+v", sum)
	}
}

func TestAToolThatIsNotThereSaysHowToInstallIt(t *testing.T) {
	task := makeTask(t.TempDir(), "")
	task.Plan.Measurements[0].Venv = "/no/venv"
	if err := Run(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	if got, want := summary(t, task.RunDir).Error, "/no/venv/bin/pip install guidellm==0.8.1"; !strings.Contains(got,
		want) {
		t.Errorf("%q does not say %q", got, want)
	}
}

func TestFindLooksInTheVenvThenInTheEnvironmentThenOnThePath(t *testing.T) {
	place := func() string {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "bin", "aiperf"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	named, variable, path := place(), place(), place()
	env := map[string]string{"BFLOW_AIPERF_VENV": variable, "PATH": filepath.Join(path, "bin")}
	get := func(k string) string { return env[k] }
	for _, step := range []struct{ venv, want, unset string }{{named, named, ""}, {"", variable, "BFLOW_AIPERF_VENV"},
		{"", path, "PATH"}} {
		got, err := Find("aiperf", step.venv, get)
		if err != nil || got != filepath.Join(step.want, "bin", "aiperf") {
			t.Errorf("found %q, want it in %q: %v", got, step.want, err)
		}
		delete(env, step.unset)
	}
	if _, err := Find("aiperf", "", get); err == nil || !strings.Contains(err.Error(), "BFLOW_AIPERF_VENV") {
		t.Errorf("what is nowhere: %v", err)
	}
}

func TestAnInterruptionEndsTheTool(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "pid")
	task := makeTask(t.TempDir(), script(t, "sleep 300 & echo $! > "+mark+".new; mv "+mark+".new "+mark+"; wait\n"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, task) }()
	worker := awaitPID(t, mark)
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	awaitGone(t, worker)
	if sum := summary(t, task.RunDir); !sum.Interrupted || sum.Complete {
		t.Errorf("summary %+v", sum)
	}
}

func TestNothingOfAToolSurvivesAKill(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "pid")
	program := script(t, "sleep 300 & echo $! > "+mark+".new; mv "+mark+".new "+mark+"; wait\n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	victim := exec.Command(self, "victim", t.TempDir(), program)
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	worker := awaitPID(t, mark)
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := victim.Wait(); err == nil {
		t.Error("the victim lives")
	}
	awaitGone(t, worker)
}

func TestTheKeyIsInNoFileAfterwards(t *testing.T) {
	key := "sk-very-secret"
	task := makeTask(t.TempDir(),
		script(t,
			`printf '0 1 11 31\n' > $OUT; echo "$GUIDELLM__SPEC__BACKEND"; env | grep BFLOW_API_KEY; echo `+
				`"$GUIDELLM__SPEC__BACKEND" > $(dirname $OUT)/config.yaml`))
	task.Env = func(name string) string {
		if name == "BFLOW_API_KEY" {
			return key
		}
		return ""
	}
	task.Environ = append(os.Environ(), "BFLOW_API_KEY="+key)
	if err := Run(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(task.RunDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), key) {
			t.Errorf("%s holds the key: %s", path, data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(report.MeasurementDir(task.RunDir, 0), LogFile))
	if err != nil || !strings.Contains(string(log), strings.Repeat("x", len(key))) ||
		strings.Contains(string(log), "BFLOW_API_KEY") {
		t.Errorf("the tool saw %q, %v", log, err)
	}
}

func awaitPID(t *testing.T, mark string) int {
	t.Helper()
	var data []byte
	eventually.Nil(t, "the start of the tool", func() (err error) {
		data, err = os.ReadFile(mark)
		return err
	})
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func awaitGone(t *testing.T, pid int) {
	t.Helper()
	eventually.True(t, fmt.Sprintf("the end of process %d, a worker of the tool", pid), func() bool {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid)
	})
}

// zombie reports a process that has ended and waits to be reaped by whoever adopted it.
func zombie(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(data), ") Z ")
}
