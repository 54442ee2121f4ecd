package provision

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/durable"
	"bflow.dev/bflow/tasks/step"
)

// exitRecord is the content of deployment/exit.json: up reads it to fail fast, and collect to say why requests failed.
type exitRecord struct {
	Text string `json:"text"` // "exit status 1", "signal: killed"
}

// hold is the supervisor of an engine process. It ends the engine's process group when it is told to (SIGTERM), when
// the executor of the run is gone (end of file on the lifeline), and by the kernel's hand when it is killed itself.
func hold(ctx context.Context, s step.Streams, args []string) error {
	flags := flag.NewFlagSet("provision hold", flag.ContinueOnError)
	flags.SetOutput(s.Err)
	runDir := flags.String("run-dir", "", "run directory")
	log := flags.String("log", "", "file for the engine's output, relative to the run directory")
	port := flags.Int("port", 0, "port of the engine, for the record")
	if err := flags.Parse(args); err != nil {
		return step.Exit(contract.ExitUsage, err)
	}
	if flags.NArg() == 0 || *runDir == "" || *log == "" {
		return step.Usagef("reading arguments: hold needs --run-dir, --log and a command")
	}
	signal.Ignore(syscall.SIGHUP)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	ctx, stop = step.WithLifeline(ctx, s.Env)
	defer stop()
	return supervise(ctx, *runDir, *log, *port, flags.Args())
}

func supervise(ctx context.Context, runDir, log string, port int, argv []string) error {
	out, err := openLog(runDir, log)
	if err != nil {
		return err
	}
	defer out.Close()
	// Pdeathsig fires when the thread that started the child ends: this thread must live as long as the child.
	runtime.LockOSThread()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = out, out, runDir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return errors.Join(recordExit(runDir, err), fmt.Errorf("starting the engine: %w", err))
	}
	if err := record(runDir, log, port, cmd.Process.Pid); err != nil {
		endGroup(cmd.Process.Pid, nil)
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		endGroup(cmd.Process.Pid, nil)
		return recordExit(runDir, err)
	case <-ctx.Done():
		endGroup(cmd.Process.Pid, ended)
		return nil
	}
}

// grace is what an engine has to end by itself, and then what the kernel has to end it: one that hangs in a driver cannot
// be killed, and must not keep its supervisor.
const grace = 5 * time.Second

// endGroup ends the process group of an engine: TERM, and KILL for whoever is left when the leader ended or grace is over.
func endGroup(pgid int, ended <-chan error) {
	if ended == nil {
		syscall.Kill(-pgid, syscall.SIGKILL)
		return
	}
	syscall.Kill(-pgid, syscall.SIGTERM)
	select {
	case <-ended:
		syscall.Kill(-pgid, syscall.SIGKILL)
		return
	case <-time.After(grace):
	}
	syscall.Kill(-pgid, syscall.SIGKILL)
	select {
	case <-ended:
	case <-time.After(grace):
	}
}

func record(runDir, log string, port, pid int) error {
	engine, err := identify("engine", pid)
	if err != nil {
		return nil // it has ended already: Wait tells how
	}
	self, err := identify("supervisor", os.Getpid())
	if err != nil {
		return err
	}
	engine.Port, engine.Log, self.Log = port, log, log
	return durable.WriteJSON(filepath.Join(runDir, contract.FileProcesses), []Process{self, engine})
}

func recordExit(runDir string, err error) error {
	text := "exit status 0"
	if err != nil {
		text = err.Error()
	}
	return durable.WriteJSON(filepath.Join(runDir, contract.FileEngineExit), exitRecord{Text: text})
}
