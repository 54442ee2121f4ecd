package step

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// killGrace is how long a command that is told to end may take: a cluster is taken down meanwhile.
const killGrace = 30 * time.Second

// Command is a step's Run that runs a program with variables on top of those of this process. It leads a process group
// of its own; when the step is to end, the group is told so, and killed after a grace.
func Command(env []string, program string, args ...string) func(context.Context, *os.File) error {
	return func(ctx context.Context, log *os.File) error {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = append(os.Environ(), env...)
		cmd.Stdout, cmd.Stderr = log, log
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
		cmd.WaitDelay = killGrace
		err := cmd.Run()
		if ctx.Err() != nil && cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what is left of the group; mostly nothing
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return fmt.Errorf("%s: %w", program, err)
		}
		return err
	}
}
