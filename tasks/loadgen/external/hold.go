package external

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// HoldWord is the first argument by which load-gen becomes the supervisor of a tool.
const HoldWord = "hold"

// grace is the time between the signal that asks a tool to end and the one that does not ask.
const grace = 5 * time.Second

// Hold runs the command in args as the leader of a process group of its own, and ends the whole group when its standard
// input ends: that is a pipe whose other end only load-gen holds, so that nothing of the tool survives load-gen,
// however that ended. Tools start workers, which no signal of the kernel would reach. The exit code is the tool's.
func Hold(ctx context.Context, s step.Streams, args []string) error {
	if len(args) == 0 {
		return step.Usagef("reading arguments: %s needs a command", HoldWord)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = s.Out, s.Out // what goes to s.Err is the supervisor's own
	// Pdeathsig fires when the thread that started the child ends: this thread must live as long as the child.
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %q: %w", args[0], err)
	}
	ended, gone := make(chan error, 1), make(chan struct{})
	go func() { ended <- cmd.Wait() }()
	go func() { // as long as the process, which ends after this function: a read of standard input cannot be given up
		_, _ = io.Copy(io.Discard, os.Stdin) // whatever ends it, load-gen is gone or wants the end
		close(gone)
	}()
	var err error
	select {
	case err = <-ended:
	case <-gone:
		err = endGroup(cmd.Process.Pid, ended)
	case <-ctx.Done():
		err = endGroup(cmd.Process.Pid, ended)
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // workers that the leader left behind; none is the rule
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return step.Exit(exit.ExitCode(), fmt.Errorf("the tool ended with exit code %d", exit.ExitCode()))
	}
	return err
}

// endGroup asks the group to end, and ends it after grace. It returns how the leader ended.
func endGroup(pgid int, ended <-chan error) error {
	_ = syscall.Kill(-pgid, syscall.SIGTERM)
	select {
	case err := <-ended:
		return err
	case <-time.After(grace):
	}
	_ = syscall.Kill(-pgid, syscall.SIGKILL)
	return <-ended
}

// holder is how to start Hold: the file load-gen beside this one, else bflow itself with its hidden step command.
func holder(env func(string) string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("looking for %q: %w", contract.LoadGen, err)
	}
	if path := filepath.Join(filepath.Dir(self), contract.LoadGen); isProgram(path) {
		return []string{path, HoldWord}, nil
	}
	if bflow := env(contract.EnvSelf); bflow != "" {
		return []string{bflow, "step", contract.LoadGen, HoldWord}, nil
	}
	return nil, fmt.Errorf("looking for %q: it is not beside %q, and %s is not set", contract.LoadGen, self,
		contract.EnvSelf)
}
