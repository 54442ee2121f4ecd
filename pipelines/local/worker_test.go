package local

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/internal/leakcheck"
	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/runplan/contract"
)

// TestMain lets the test binary stand in for the programs that steps name, and for an executor of its own.
func TestMain(m *testing.M) {
	name, args := filepath.Base(os.Args[0]), os.Args[1:]
	switch {
	case name == "executor":
		os.Exit(executorMain(args))
	case os.Getenv(noteCalls) != "" && len(args) > 1 && args[0] == "step":
		os.Exit(note(args[1], args[2:]))
	case os.Getenv(noteCalls) != "" && slices.Contains(contract.Binaries(), name):
		os.Exit(note(name, args))
	case len(args) > 1 && args[0] == "step":
		fmt.Println("self:", args[1])
		os.Exit(worker(args[2:]))
	case name == "worker" || slices.Contains(contract.Binaries(), name):
		os.Exit(worker(args))
	}
	leakcheck.Main(m)
}

// noteCalls is a variable that makes programs of ours only note how they were called.
const noteCalls = "NOTE_CALLS"

// note adds its name, its subcommand and what tells it from others to the notes of the run directory, checks that it
// was given a plan, and writes each result it was asked for.
func note(name string, args []string) int {
	call, runDir := []string{name}, ""
	for _, arg := range args {
		flag, value, _ := strings.Cut(arg, "=")
		switch {
		case !strings.HasPrefix(arg, "--"), flag == "--measurement", flag == "--status":
			call = append(call, arg)
		case flag == "--run-dir":
			runDir = value
		case flag == "--plan-dir":
			_, err := os.Stat(filepath.Join(value, contract.FilePlan))
			check(err)
		case strings.HasSuffix(flag, "-result"):
			check(os.WriteFile(value, []byte("noted"), 0o644))
		}
	}
	return operate("add", append([]string{filepath.Join(runDir, "notes")}, call...))
}

// worker does what its arguments say, one operation after the other, separated by ";".
func worker(args []string) int {
	for len(args) > 0 {
		end := slices.Index(args, ";")
		if end < 0 {
			end = len(args)
		}
		if code := operate(args[0], args[1:end]); code != 0 {
			return code
		}
		args = args[min(end+1, len(args)):]
	}
	return 0
}

func operate(op string, args []string) int {
	switch op {
	case "say":
		fmt.Println(strings.Join(args, " "))
	case "args":
		fmt.Printf("%q\n", args)
	case "env":
		value, ok := os.LookupEnv(args[0])
		fmt.Println(args[0], strconv.Quote(value), ok)
	case "write":
		check(os.WriteFile(args[0], []byte(strings.Join(args[1:], " ")), 0o644))
	case "add":
		f, err := os.OpenFile(args[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		check(err)
		defer f.Close()
		fmt.Fprintln(f, strings.Join(args[1:], " "))
	case "cat":
		data, err := os.ReadFile(args[0])
		check(err)
		fmt.Println(string(data))
	case "mode":
		info, err := os.Stat(args[0])
		check(err)
		fmt.Println(info.Mode())
	case "exit":
		code, err := strconv.Atoi(args[0])
		check(err)
		return code
	case "exit-unless":
		if _, err := os.Stat(args[0]); err != nil {
			return 3
		}
	case "exit-if":
		if _, err := os.Stat(args[0]); err == nil {
			return 3
		}
	case "exit-first":
		if _, err := os.Stat(args[0]); err != nil {
			check(os.WriteFile(args[0], nil, 0o644))
			return 4
		}
	default:
		return operateLong(op, args)
	}
	return 0
}

// operateLong are the operations that take time.
func operateLong(op string, args []string) int {
	switch op {
	case "await":
		awaitFile(args[0])
	case "fill-once": // the disk; FILE CODE
		if _, err := os.Stat(args[0] + ".started"); err == nil {
			return 0
		}
		check(os.WriteFile(args[0]+".started", nil, 0o644))
		f, err := os.Create(args[0])
		for check(err); err == nil; {
			_, err = f.Write(make([]byte, 4096))
		}
		return operate("exit", args[1:])
	case "hang-once":
		if _, err := os.Stat(args[0] + ".started"); err != nil {
			return operateLong("hang", args)
		}
	case "hang": // until SIGTERM, which it notes in a file
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		writePID(args[0] + ".started")
		<-ctx.Done()
		check(os.WriteFile(args[0]+".terminated", nil, 0o644))
		return 143
	case "deaf": // to SIGTERM
		signal.Ignore(syscall.SIGTERM)
		never := make(chan os.Signal, 1)
		signal.Notify(never, syscall.SIGUSR2) // who waits for a signal is not taken for a deadlock
		check(os.WriteFile(args[0]+".started", nil, 0o644))
		<-never
	case "spawn": // a background process that lives until its lifeline is cut
		cmd := exec.Command(os.Args[0], "lifeline", args[0])
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		fd, err := strconv.Atoi(os.Getenv(contract.EnvLifeline))
		check(err)
		cmd.ExtraFiles = []*os.File{os.NewFile(uintptr(fd), "lifeline")}
		check(cmd.Start())
		awaitFile(args[0])
	case "lifeline":
		writePID(args[0])
		_, _ = os.NewFile(3, "lifeline").Read(make([]byte, 1))
	case "linger": // a background process that nothing but its mark can find
		cmd := exec.Command(os.Args[0], "deaf", args[0])
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		check(cmd.Start())
		awaitFile(args[0] + ".started")
	default:
		fmt.Fprintf(os.Stderr, "no operation %q\n", op)
		return 2
	}
	return 0
}

// writePID writes the file at once: whoever waits for it reads it whole.
func writePID(path string) {
	check(os.WriteFile(path+".new", []byte(strconv.Itoa(os.Getpid())), 0o644))
	check(os.Rename(path+".new", path))
}

func awaitFile(path string) {
	check(eventually.Look(context.Background(), "the file "+path, func() error {
		_, err := os.Stat(path)
		return err
	}))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// executorMain runs or resumes: executor run|resume ROOT RUNDIR, with the objects on stdin.
func executorMain(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	o := testOptions(args[1], args[2])
	var err error
	o.Objects, err = pipelines.Parse(bufio.NewReader(os.Stdin))
	check(err)
	act := Run
	if args[0] == "resume" {
		act = Resume
	}
	status, err := act(ctx, o)
	check(err)
	return status.ExitCode
}

func testOptions(root, runDir string) Options {
	return Options{
		RunDir: runDir, RunID: "case",
		// A program built with -race sleeps for a second at its end unless told not to; one built with -cover wants a folder.
		Env:     append(os.Environ(), "TOKEN=t0ken", "HOST_TOKEN=mapped", "GORACE=atexit_sleep_ms=0", "GOCOVERDIR="+root),
		PassEnv: []string{"GORACE", "GOCOVERDIR"},
		BinDir:  filepath.Join(root, "bin"), Self: filepath.Join(root, "bflow"),
		HostImages: map[string]string{"worker": root}, SecretEnv: map[string]string{"vault/token": "HOST_TOKEN"},
		Grace: eventually.Limit,
	}
}
