package local

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bflow.dev/bflow/internal/cgroup"
	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/container"
	"golang.org/x/sys/unix"
)

// step runs one step to its end. Succeeded is also a failed step that says to continue.
func (t *taskRun) step(ctx context.Context, s *v1.Step, r room, scope values, m mounts) outcome {
	for _, res := range s.Results {
		scope.strings["step.results."+res.Name+".path"] = filepath.Join(r.stepResults(s.Name), res.Name)
	}
	if err := os.MkdirAll(r.stepResults(s.Name), 0o755); err != nil {
		return failure(fmt.Errorf("step %q: %w", s.Name, err))
	}
	paths := m.of(s)
	paths.step(s)
	container.ApplyStepReplacements(s, scope.strings, scope.arrays)
	if s.Timeout != nil && s.Timeout.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.Timeout.Duration, &stopCause{Failed, v1.TaskRunReasonFailed.String(),
			fmt.Sprintf("step %q took longer than its timeout of %s", s.Name, s.Timeout.Duration)})
		defer cancel()
	}
	if ctx.Err() != nil {
		return ended(ctx)
	}
	before := cgroup.Own().Kills
	code, err := t.process(ctx, s, r, paths)
	if err != nil {
		return failure(fmt.Errorf("step %q: %w", s.Name, err))
	}
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if code != 0 && s.OnError != v1.Continue {
		reason, killed := exitReason(code, cgroup.Own().Kills > before)
		out := failure(fmt.Errorf("step %q exited with code %d%s%s", s.Name, code, killed, t.lastWords(s.Name)))
		out.exitCode, out.reason = code, reason
		return out
	}
	if err := t.leave(s, r, scope, code); err != nil {
		return failure(err)
	}
	return outcome{state: Succeeded, reason: v1.TaskRunReasonSuccessful.String()}
}

// leave makes the exit code and the results of s known to later steps.
func (t *taskRun) leave(s *v1.Step, r room, scope values, code int) error {
	// On a full disk the steps that follow, a teardown perhaps, matter more than this file; one that reads it will say so.
	_ = os.WriteFile(r.exitCode(s.Name), []byte(strconv.Itoa(code)), 0o644)
	scope.strings["steps.step-"+s.Name+".exitCode.path"] = r.exitCode(s.Name)
	scope.strings["steps."+s.Name+".exitCode.path"] = r.exitCode(s.Name)
	var wanted []declaredResult
	for _, res := range s.Results {
		wanted = append(wanted, declaredResult{res.Name, res.Type})
	}
	results, err := readResults(r.stepResults(s.Name), wanted)
	if err != nil {
		return fmt.Errorf("step %q: %w", s.Name, err)
	}
	scope.setResults("steps."+s.Name+".results", results)
	return nil
}

// process starts the program of s, and records its start and end.
func (t *taskRun) process(ctx context.Context, s *v1.Step, r room, paths relocation) (int, error) {
	prog, err := t.e.o.program(s, r)
	if err != nil {
		return 0, err
	}
	env, err := t.environ(s, paths)
	if err != nil {
		return 0, err
	}
	log, logName := t.openLog(s.Name)
	defer log.Close()
	argv := append([]string{}, prog.argv...)
	for _, arg := range slices.Concat(s.Command[min(1, len(s.Command)):], s.Args) {
		argv = append(argv, expand(arg, env))
	}
	p := process{
		argv: argv, dir: workDir(s, r), env: env, log: log, fd: t.e.lifeline,
		grace: t.e.o.Grace, stop: t.e.o.Stop,
	}
	rec := Record{Task: t.pt.Name, TaskRun: t.name, Step: s.Name}
	code, err := p.run(ctx, t.e.launcher, func(pid int) error {
		start := rec
		start.Kind, start.PID, start.Program = StepStarted, pid, prog.kind
		start.Path, start.Log = prog.argv[0], logName
		start.Ticks, err = startTicks(pid)
		t.e.ledger.record(start)
		return err
	})
	if err != nil {
		return 0, err
	}
	rec.Kind, rec.ExitCode, rec.State = StepFinished, code, Succeeded
	if code != 0 {
		rec.State = Failed
	}
	t.e.ledger.record(rec)
	return code, nil
}

func workDir(s *v1.Step, r room) string {
	if filepath.IsAbs(s.WorkingDir) {
		return s.WorkingDir
	}
	return filepath.Join(r.work(), s.WorkingDir)
}

// environ makes the environment of s, whose /tmp may be a folder of its own.
func (t *taskRun) environ(s *v1.Step, paths relocation) ([]string, error) {
	e := newEnviron(t.e.o, t.e.program.configs)
	if dir, ok := paths["/tmp"]; ok {
		e.set("TMPDIR", dir)
	}
	if err := e.declare(s.EnvFrom, s.Env); err != nil {
		return nil, err
	}
	e.set(contract.EnvSelf, t.e.o.Self)
	e.set(contract.EnvRunDir, t.e.o.RunDir)
	e.set(contract.EnvLifeline, "3") // the first of exec.Cmd.ExtraFiles
	return e.list, nil
}

// exitReason returns the reason of a step that exited with code, and words for one that a signal ended which it cannot
// answer: none of its own say why. starved says that the kernel has killed a process of this control group meanwhile,
// because memory ran out.
func exitReason(code int, starved bool) (reason, words string) {
	switch {
	case code != 128+int(unix.SIGKILL):
		return contract.ReasonStepFailed, ""
	case starved:
		return contract.ReasonStepOOM, ": it was killed: out of memory"
	default:
		return contract.ReasonStepKilled, ": it was killed, by somebody or because memory ran out"
	}
}

// lastWords is the last line that a step has written in this try, behind a colon: most programs end with their reason.
func (t *taskRun) lastWords(of string) string {
	line := step.LastLine(filepath.Join(t.e.o.RunDir, t.logName(of)))
	if line == "" || strings.HasPrefix(line, tryMark) {
		return ""
	}
	return ": " + line
}

func (t *taskRun) logName(step string) string {
	if len(t.body.spec.Steps) == 1 {
		step = ""
	}
	return logPath(t.label, step)
}

// tryMark begins the line between the output of one try and the next.
const tryMark = "--- attempt "

// openLog opens the log of a step for adding. A log that cannot be written keeps no step from running: its name is
// empty then, and the output is lost.
func (t *taskRun) openLog(step string) (*os.File, string) {
	name := t.logName(step)
	f, err := durable.AppendGrowing(filepath.Join(t.e.o.RunDir, name))
	if err == nil {
		if size, err := f.Seek(0, io.SeekEnd); err == nil && size > 0 {
			fmt.Fprintf(f, tryMark+"%d, try %d\n", t.e.o.Attempt, t.tried)
		}
		return f, name
	}
	f, _ = os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a nil file is /dev/null to exec.Cmd as well
	return f, ""
}

// of adds the volume mounts of s to the paths of its TaskRun.
func (m mounts) of(s *v1.Step) relocation {
	paths := relocation{}
	for from, to := range m.paths {
		paths[from] = to
	}
	for _, v := range s.VolumeMounts {
		if dir, ok := m.volumes[v.Name]; ok {
			paths[filepath.Clean(v.MountPath)] = filepath.Join(dir, v.SubPath)
		}
	}
	return paths
}
