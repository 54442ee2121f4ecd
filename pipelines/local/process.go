package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is one step to be run.
type process struct {
	argv []string
	dir  string
	env  []string
	log  *os.File // stdout and stderr; nil loses them
	fd   *os.File // read end of the lifeline, file descriptor 3 of the process

	grace time.Duration   // between SIGTERM and SIGKILL
	stop  <-chan struct{} // closed: SIGKILL at once
}

// run starts p, reports its pid through started and waits for its end. When ctx ends the process group gets SIGTERM,
// and SIGKILL after the grace period. The exit code is 128 plus the signal for a process that died of one. An error
// means that the process could not be started or that started refused it.
func (p process) run(ctx context.Context, l *launcher, started func(pid int) error) (int, error) {
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = p.dir, p.env, []*os.File{p.fd}
	if p.log != nil {
		cmd.Stdout, cmd.Stderr = p.log, p.log
	}
	if err := l.start(cmd); err != nil {
		return 0, fmt.Errorf("starting %q: %w", p.argv[0], err)
	}
	if err := started(cmd.Process.Pid); err != nil {
		signalGroup(cmd.Process.Pid, unix.SIGKILL)
		_ = cmd.Wait()
		return 0, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		awaitExit(cmd.Process.Pid)
	}()
	p.watch(ctx, cmd.Process.Pid, ended)
	return exitCode(cmd, cmd.Wait())
}

// watch returns when the leader has ended. When ctx or stop ends before, it ends the whole process group.
func (p process) watch(ctx context.Context, leader int, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-p.stop:
	case <-ctx.Done():
		signalGroup(leader, unix.SIGTERM)
		grace := time.NewTimer(p.grace)
		defer grace.Stop()
		select {
		case <-ended: // but not others of its group
		case <-p.stop:
		case <-grace.C:
		}
	}
	signalGroup(leader, unix.SIGKILL)
	<-ended
}

// awaitExit returns when process pid has ended, and leaves it unreaped: until then its number, also that of its
// group, belongs to no other.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func signalGroup(leader int, sig unix.Signal) { _ = unix.Kill(-leader, sig) }

func exitCode(cmd *exec.Cmd, err error) (int, error) {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("waiting for %q: %w", cmd.Path, err)
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}
