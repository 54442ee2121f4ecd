package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan/contract"
)

// long is a run like ours: a deployment that lives in the background, a check of it, a measurement that needs both, a
// task after it, and a teardown.
const long = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: case}
spec:
  workspaces: [{name: run, emptyDir: {}}]
  pipelineRef: {name: p}
---
apiVersion: tekton.dev/v1
kind: Pipeline
metadata: {name: p}
spec:
  params: [{name: attempt, default: "1"}]
  workspaces: [{name: run}]
  results: [{name: endpoint, value: $(tasks.deploy.results.endpoint)}]
  tasks:
  - {name: prepare, taskRef: {name: note}, params: [{name: what, value: prepare}], workspaces: [{name: run}]}
  - {name: deploy, taskRef: {name: deploy}, runAfter: [prepare], params: [{name: attempt, value: $(params.attempt)}], workspaces: [{name: run}]}
  - {name: measure-0, taskRef: {name: note-restart}, runAfter: [deploy], params: [{name: what, value: measure-0}], workspaces: [{name: run}]}
  - {name: measure-1, taskRef: {name: measure}, runAfter: [measure-0], params: [{name: endpoint, value: $(tasks.deploy.results.endpoint)}], workspaces: [{name: run}]}
  - {name: report, taskRef: {name: note}, runAfter: [measure-1], params: [{name: what, value: report}], workspaces: [{name: run}]}
  finally:
  - {name: finish, taskRef: {name: note}, params: [{name: what, value: "finish after $(tasks.measure-1.status)"}], workspaces: [{name: run}]}
---
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: note}
spec: 
  params: [{name: what}]
  workspaces: [{name: run}]
  steps: [{name: s, image: worker, command: [/worker], args: [add, $(workspaces.run.path)/notes, $(params.what)]}]
---
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: note-restart, annotations: {bflow.dev/resume: restart}}
spec:
  params: [{name: what}]
  workspaces: [{name: run}]
  steps: [{name: s, image: worker, command: [/worker], args: [add, $(workspaces.run.path)/notes, $(params.what)]}]
---
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: deploy, annotations: {bflow.dev/resume: repeat}}
spec:
  params: [{name: attempt}]
  results: [{name: endpoint}]
  workspaces: [{name: run}]
  steps: [{name: s, image: worker, command: [/worker], args: [add, $(workspaces.run.path)/notes, deploy, $(params.attempt), ";", write, $(results.endpoint.path), "http://$(params.attempt)", ";", spawn, "$(workspaces.run.path)/engine-$(params.attempt)"]}]
---
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: measure, annotations: {bflow.dev/resume: restart}}
spec:
  params: [{name: endpoint}]
  workspaces: [{name: run}]
  steps: [{name: s, image: worker, command: [/worker], args: [add, $(workspaces.run.path)/notes, measure-1 at $(params.endpoint), ";", exit-if, "$(workspaces.run.path)/fail", ";", hang-once, $(workspaces.run.path)/measure]}]
`

func TestAKilledExecutorIsResumedWhereItWas(t *testing.T) {
	root, dir := hostRoot(t), filepath.Join(t.TempDir(), "run")
	cmd := startExecutor(t, root, dir, long)
	awaitFileIn(t, filepath.Join(dir, "measure.started"))
	measure, engine := pidIn(t, filepath.Join(dir, "measure.started")), pidIn(t, filepath.Join(dir, "engine-1"))
	if s, err := StatusOf(dir); err != nil || s.State != Running || !s.Alive || s.PID != cmd.Process.Pid {
		t.Errorf("while it lives: %+v, %v", s, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	awaitEnd(t, measure)
	awaitEnd(t, engine)
	s, err := StatusOf(dir)
	if err != nil || s.State != Interrupted || s.Alive {
		t.Errorf("after kill -9: %+v, %v", s, err)
	}

	o := testOptions(root, dir)
	s, err = Resume(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if s.State != Succeeded || s.Attempt != 2 || s.RunID != "case" || s.Results["endpoint"].StringVal != "http://2" {
		t.Errorf("resumed: %+v", s)
	}
	want := "prepare\ndeploy 1\nmeasure-0\nmeasure-1 at http://1\n" + // attempt 1, cut
		"deploy 2\nmeasure-1 at http://2\nreport\nfinish after Succeeded\n"
	if got := read(t, filepath.Join(dir, "notes")); got != want {
		t.Errorf("order of work:\n%s\nwant:\n%s", got, want)
	}
	for name, attempt := range map[string]int{"prepare": 1, "deploy": 2, "measure-0": 1, "measure-1": 2, "finish": 2} {
		if got := find(s, name); got.State != Succeeded || got.Attempt != attempt {
			t.Errorf("task %s: %+v, want attempt %d", name, got, attempt)
		}
	}
	if left := processesOf(dir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	sameFromJournal(t, s)
	if _, err := Resume(t.Context(), o); err == nil || !strings.Contains(err.Error(), "nothing is left to do") {
		t.Errorf("resuming a finished run: %v", err)
	}
}

func TestAFailedRunIsResumedFromTheFailedTask(t *testing.T) {
	root, dir := hostRoot(t), filepath.Join(t.TempDir(), "run")
	o := testOptions(root, dir)
	o.Objects = parse(t, strings.NewReplacer("hang-once, $(workspaces.run.path)/measure", "say, done").Replace(long))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "fail"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := Run(t.Context(), o); err != nil || s.State != Failed || s.ExitCode != 3 {
		t.Fatalf("first attempt: %+v, %v", s, err)
	}
	if err := os.Remove(filepath.Join(dir, "fail")); err != nil {
		t.Fatal(err)
	}
	s, err := Resume(t.Context(), testOptions(root, dir))
	if err != nil || s.State != Succeeded || find(s, "prepare").Attempt != 1 || find(s, "report").Attempt != 2 {
		t.Errorf("second attempt: %+v, %v", s, err)
	}
}

// TestAMeasurementThatIsNotKeptRunsAgain, and with it the deployment that it needs and what was made of it; others are
// kept.
func TestAMeasurementThatIsNotKeptRunsAgain(t *testing.T) {
	root, dir := hostRoot(t), filepath.Join(t.TempDir(), "run")
	o := testOptions(root, dir)
	o.Objects = parse(t, strings.NewReplacer("hang-once, $(workspaces.run.path)/measure", "say, done",
		"args: [add, $(workspaces.run.path)/notes, $(params.what)]", `args: [add, $(workspaces.run.path)/notes, `+
			`$(params.what), ";", exit-if, "$(workspaces.run.path)/fail-$(params.what)"]`).Replace(long))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	fail := filepath.Join(dir, "fail-finish after Succeeded")
	if err := os.WriteFile(fail, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := Run(t.Context(), o); err != nil || s.State != Failed || find(s, "report").State != Succeeded {
		t.Fatalf("first attempt: %+v, %v", s, err)
	}
	if err := os.Remove(fail); err != nil {
		t.Fatal(err)
	}
	o = testOptions(root, dir)
	o.Again = []string{"measure-0"}
	s, err := Resume(t.Context(), o)
	if err != nil || s.State != Succeeded {
		t.Fatalf("second attempt: %+v, %v", s, err)
	}
	for name, attempt := range map[string]int{"prepare": 1, "deploy": 2, "measure-0": 2, "measure-1": 1,
		"report": 2, "finish": 2} {
		if got := find(s, name); got.Attempt != attempt {
			t.Errorf("task %s is of attempt %d, want %d", name, got.Attempt, attempt)
		}
	}
}

func TestCancelEndsTasksAndRunsFinally(t *testing.T) {
	root, dir := hostRoot(t), filepath.Join(t.TempDir(), "run")
	cmd := startExecutor(t, root, dir, long)
	awaitFileIn(t, filepath.Join(dir, "measure.started"))
	if err := Cancel(dir); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != contract.ExitInterrupted {
		t.Errorf("exit code %d, want %d", got, contract.ExitInterrupted)
	}
	s, err := StatusOf(dir)
	if err != nil || s.State != Cancelled || find(s, "measure-1").State != Cancelled ||
		find(s, "finish").State != Succeeded {
		t.Errorf("cancelled: %+v, %v", s, err)
	}
	if !strings.HasSuffix(read(t, filepath.Join(dir, "notes")), "finish after Failed\n") {
		t.Errorf("finally did not run: %q", read(t, filepath.Join(dir, "notes")))
	}
	if _, err := os.Stat(filepath.Join(dir, "measure.terminated")); err != nil {
		t.Error("the step was not told by SIGTERM")
	}
	if err := Cancel(dir); err == nil {
		t.Error("a run that has ended was cancelled")
	}
	if left := processesOf(dir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

const deaf = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: case}
spec:
  workspaces: [{name: run, emptyDir: {}}]
  pipelineSpec:
    workspaces: [{name: run}]
    tasks:
    - name: deaf
      workspaces: [{name: run}]
      taskSpec: {workspaces: [{name: run}], steps: [{name: s, image: worker, command: [/worker], args: [linger, $(workspaces.run.path)/lingers, ";", deaf, $(workspaces.run.path)/deaf]}]}
    finally:
    - name: end
      workspaces: [{name: run}]
      taskSpec: {workspaces: [{name: run}], steps: [{name: s, image: worker, command: [/worker], args: [deaf, $(workspaces.run.path)/end]}]}
`

func TestAStepThatIgnoresSIGTERMIsKilledAfterTheGracePeriod(t *testing.T) {
	o := testOptions(hostRoot(t), filepath.Join(t.TempDir(), "run"))
	o.Objects, o.Grace = parse(t,
		strings.ReplaceAll(deaf, "deaf, $(workspaces.run.path)/end", "say, end")), 50*time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	go func() { eventually.Happens(ctx, there(filepath.Join(o.RunDir, "deaf.started"))); cancel() }()
	s, err := Run(ctx, o)
	if err != nil || s.State != Cancelled || find(s, "end").State != Succeeded {
		t.Fatalf("got %+v, %v", s, err)
	}
	if code := find(s, "deaf").Runs[0].Steps[0].ExitCode; code != 128+int(syscall.SIGKILL) {
		t.Errorf("exit code %d, want that of SIGKILL", code)
	}
	if left := processesOf(o.RunDir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

func TestAHardStopKillsEverythingFinallyIncluded(t *testing.T) {
	o := testOptions(hostRoot(t), filepath.Join(t.TempDir(), "run"))
	stop := make(chan struct{})
	o.Objects, o.Grace, o.Stop = parse(t, deaf), time.Hour, stop
	ctx, cancel := context.WithCancel(t.Context())
	go func() { eventually.Happens(ctx, there(filepath.Join(o.RunDir, "deaf.started"))); cancel(); close(stop) }()
	s, err := Run(ctx, o)
	if err != nil || s.State != Cancelled || s.ExitCode != contract.ExitInterrupted {
		t.Fatalf("got %+v, %v", s, err)
	}
	if left := processesOf(o.RunDir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

func TestTwoExecutorsNeverHoldOneRun(t *testing.T) {
	root, dir := hostRoot(t), filepath.Join(t.TempDir(), "run")
	cmd := startExecutor(t, root, dir, long)
	awaitFileIn(t, filepath.Join(dir, "measure.started"))
	var locked *LockedError
	if _, err := Resume(t.Context(), testOptions(root, dir)); !errors.As(err, &locked) || locked.PID != cmd.Process.Pid {
		t.Errorf("resume: %v", err)
	}
	if err := Delete(dir); !errors.As(err, &locked) {
		t.Errorf("delete: %v", err)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if err := Delete(dir); err != nil {
		t.Errorf("deleting a dead run: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
}

func TestAProcessWithAnotherStartTimeIsNeverKilled(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	ticks, err := startTicks(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	step := Record{Kind: StepStarted, TaskRun: "t", Step: "s", PID: cmd.Process.Pid, Ticks: ticks - 1}
	if err := endLeftovers(t.TempDir(), []Record{step}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Fatalf("an innocent process was killed: %v", err)
	}
	step.Ticks = ticks
	if err := endLeftovers(t.TempDir(), []Record{step}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the recorded process was not killed: %v", err)
	}
}

func TestANumberThatIsAThreadNowIsNoProcessOfTheRun(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	for range 2 { // threads beside the first
		go func() { runtime.LockOSThread(); <-hold }()
	}
	var tid int
	eventually.Nil(t, "a second thread", func() error {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, thread := range threads {
			if tid, err = strconv.Atoi(thread.Name()); err == nil && tid != os.Getpid() {
				return nil
			}
		}
		return errors.New("there is none")
	})
	if err := endLeftovers(t.TempDir(),
		[]Record{{Kind: StepStarted, TaskRun: "t", Step: "s", PID: tid, Ticks: 1}}); err != nil {
		t.Error(err)
	}
}

func startExecutor(t *testing.T, root, dir, objects string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(filepath.Join(root, "executor"), "run", root, dir)
	cmd.Stdin, cmd.Stderr = strings.NewReader(objects), os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func awaitFileIn(t *testing.T, path string) {
	t.Helper()
	eventually.Nil(t, "the file "+path, func() error {
		_, err := os.Stat(path)
		return err
	})
}

// there says whether a file is there.
func there(path string) func() bool {
	return func() bool {
		_, err := os.Stat(path)
		return err == nil
	}
}

func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	eventually.Nil(t, "the end of a process that must not outlive its executor", func() error {
		data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err != nil || strings.Contains(string(data), ") Z ") {
			return nil
		}
		return fmt.Errorf("process %d: %s", pid, data)
	})
}

func pidIn(t *testing.T, path string) int {
	t.Helper()
	pid, err := strconv.Atoi(read(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
