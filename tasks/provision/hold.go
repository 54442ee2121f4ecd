package provision

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/runplan/contract"
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
	log := flags.String("log", "", "file for the output of the engine, relative to the run directory")
	port := flags.Int("port", 0, "port of the engine, to record")
	hide := flags.Bool("hide", false, "redact the texts listed on standard input from the output of the engine")
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
	var secrets []string
	if *hide {
		if err := json.NewDecoder(os.Stdin).Decode(&secrets); err != nil {
			return fmt.Errorf("reading the texts to redact from the log of the engine: %w", err)
		}
	}
	return supervise(ctx, *runDir, *log, *port, flags.Args(), secrets)
}

func supervise(ctx context.Context, runDir, log string, port int, argv, secrets []string) error {
	file, err := openLog(runDir, log)
	if err != nil {
		return err
	}
	defer file.Close()
	out, drain, err := without(secrets, file)
	if err != nil {
		return err
	}
	// Pdeathsig fires when the thread that started the child ends: this thread must live as long as the child.
	runtime.LockOSThread()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = out, out, runDir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err = cmd.Start()
	defer drain()
	if err != nil {
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
		drain() // the last line of the log says why
		return recordExit(runDir, err)
	case <-ctx.Done():
		endGroup(cmd.Process.Pid, ended)
		return nil
	}
}

// without returns a file for the output of an engine, which comes to log without the secrets, and what waits until all
// of it is there once the engine has ended. Where there are no secrets that file is log.
func without(secrets []string, log *os.File) (out *os.File, drain func(), err error) {
	if len(secrets) == 0 {
		return log, func() {}, nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("making a pipe for the output of the engine: %w", err)
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		w := step.NewRedaction(secrets...).Writer(log)
		_, err := io.Copy(w, read)
		if err = errors.Join(err, w.Close()); err != nil && !errors.Is(err, os.ErrClosed) {
			fmt.Fprintf(log, "provision: the rest of the engine's output could not be written: %v\n", err)
			_, _ = io.Copy(io.Discard, read) // an engine must not wait for room in its log
		}
	}()
	return write, sync.OnceFunc(func() {
		write.Close()
		select {
		case <-copied:
		case <-time.After(grace): // a process that left the group still holds the pipe
		}
		read.Close()
		<-copied
	}), nil
}

// grace is what an engine has to end by itself, and then what the kernel has to end it: one that hangs in a driver
// cannot be killed, and must not keep its supervisor.
const grace = 5 * time.Second

// endGroup ends the process group of an engine: TERM, and KILL for whoever is left when the leader ended or grace is
// over.
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
