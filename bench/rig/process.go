package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Command is a program to run on a core.
type Command struct {
	Path   string
	Args   []string
	Env    []string // nil = that of this process
	Dir    string
	Core   int // Anywhere = not pinned
	Stdout io.Writer
	Stderr io.Writer
	Grace  time.Duration // between the signal to end and the kill, when the context ends; 0 = 10 s
}

// Usage is what a process used from its exec to its exit.
type Usage struct {
	Started, Ended int64         // CLOCK_MONOTONIC, ns: just before the exec, and when the exit was seen
	User, System   time.Duration // of the process and of the children it waited for
	PeakRSS        int64         // bytes, of the process itself; see watch
	PeakTree       int64         // bytes of anonymous memory of the process and all its descendants, sampled
	Preempted      int64         // involuntary switches: somebody else wanted the core
	ExitCode       int
}

// CPU is the processor time, in both modes.
func (u Usage) CPU() time.Duration { return u.User + u.System }

// Wall is the time from exec to exit.
func (u Usage) Wall() time.Duration { return time.Duration(u.Ended - u.Started) }

// Process is a program that runs.
type Process struct {
	Pid     int
	Started int64 // CLOCK_MONOTONIC just before the exec
	cmd     *exec.Cmd
	watch   *watch
	name    string
}

// Start runs c on its core. The process is told to end when ctx ends.
func Start(ctx context.Context, c Command) (*Process, error) {
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Env, cmd.Dir = c.Env, c.Dir
	cmd.Stdout, cmd.Stderr = c.Stdout, c.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if cmd.WaitDelay = c.Grace; c.Grace == 0 {
		cmd.WaitDelay = 10 * time.Second
	}
	p := &Process{cmd: cmd, name: c.Path}
	err := startPinned(c.Core, func() error {
		p.Started = Now()
		return cmd.Start()
	})
	if err != nil {
		return nil, fmt.Errorf("starting %q: %w", c.Path, err)
	}
	p.Pid = cmd.Process.Pid
	p.watch = startWatch(p.Pid)
	return p, nil
}

// Interrupt asks the process to end.
func (p *Process) Interrupt() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

// Pause suspends the process for a while (SIGSTOP, SIGCONT), as if the host had stalled.
func (p *Process) Pause(length time.Duration) error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("suspending %q for %v: %w", p.name, length, err)
	}
	pause(length)
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("resuming %q after %v: %w", p.name, length, err)
	}
	return nil
}

// Wait waits for the exit. An exit code other than 0 is no error: it is in the Usage.
func (p *Process) Wait() (Usage, error) {
	awaitExit(p.Pid)
	u := Usage{Started: p.Started, Ended: Now()}
	// Before the process is reaped: Linux 6.18 may spin for minutes while another thread reads its folder in /proc.
	u.PeakRSS, u.PeakTree = p.watch.stop()
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return u, fmt.Errorf("waiting for %q: %w", p.name, err)
	}
	u.ExitCode = p.cmd.ProcessState.ExitCode()
	if r, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.User, u.System = time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano())
		u.Preempted = r.Nivcsw
	}
	return u, nil
}

// awaitExit returns when process pid has ended, and leaves it unreaped.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// Run starts c and waits for its exit.
func Run(ctx context.Context, c Command) (Usage, error) {
	p, err := Start(ctx, c)
	if err != nil {
		return Usage{}, err
	}
	return p.Wait()
}
