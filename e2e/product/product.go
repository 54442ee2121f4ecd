package product

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bflow.dev/bflow/internal/eventually"
)

// Product is an installation of bflow with a folder of runs of its own.
type Product struct {
	t    testing.TB
	Path string   // of bflow
	Runs string   // folder of runs
	Dir  string   // working directory of every command
	Env  []string // KEY=VALUE, on top of the environment of the test
}

// New installs bflow with every other binary beside it.
func New(t testing.TB) *Product {
	t.Helper()
	p := NewAlone(t)
	for name := range siblings() {
		install(t, filepath.Join(filepath.Dir(p.Path), name))
	}
	return p
}

// NewAlone installs bflow as a single file.
func NewAlone(t testing.TB) *Product {
	t.Helper()
	root := t.TempDir()
	p := &Product{t: t, Path: filepath.Join(root, "bin", bflow), Runs: filepath.Join(root, "runs"), Dir: t.TempDir()}
	if err := os.Mkdir(filepath.Dir(p.Path), 0o755); err != nil {
		t.Fatal(err)
	}
	install(t, p.Path)
	return p
}

// install puts the test binary under another name: a link where it can be one.
func install(t testing.TB, path string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Link(self, path) == nil {
		return
	}
	if err := duplicate(self, path); err != nil {
		t.Fatal(err)
	}
}

func duplicate(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Result is how a command ended.
type Result struct {
	Code     int
	Out, Err string
}

// Run runs bflow with args to its end.
func (p *Product) Run(args ...string) Result {
	p.t.Helper()
	return p.Start(args...).Wait()
}

// Command is a bflow that runs.
type Command struct {
	t        testing.TB
	cmd      *exec.Cmd
	out, err bytes.Buffer
	end      sync.Once
}

// Start starts bflow with args. It is killed at the end of the test where it has not ended.
func (p *Product) Start(args ...string) *Command {
	p.t.Helper()
	c := &Command{t: p.t, cmd: exec.Command(p.Path, args...)}
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = p.Dir, &c.out, &c.err
	// A binary built with -race sleeps for a second at its end unless told not to; one with -cover wants a folder.
	c.cmd.Env = slices.Concat(clean(os.Environ()),
		[]string{"BFLOW_RUNS_DIR=" + p.Runs, "GORACE=atexit_sleep_ms=0", "GOCOVERDIR=" + p.Dir}, p.Env)
	if err := c.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		hung := c.cmd.Process.Kill() == nil
		c.end.Do(func() { _ = c.cmd.Wait() })
		if hung {
			p.t.Logf("bflow %q had not ended:\n%s", args, c.err.String())
		}
	})
	return c
}

// clean drops what would change how bflow behaves.
func clean(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return strings.HasPrefix(kv, "BFLOW_") || strings.HasPrefix(kv, "MLFLOW_")
	})
}

// Signal sends sig.
func (c *Command) Signal(sig os.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		c.t.Fatal(err)
	}
}

// PID is the number of its process.
func (c *Command) PID() int { return c.cmd.Process.Pid }

// Wait returns how the command ended; one that does not end fails the test.
func (c *Command) Wait() Result {
	c.t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.end.Do(func() { _ = c.cmd.Wait() })
	}()
	eventually.Receive(c.t, fmt.Sprintf("the end of bflow %q", c.cmd.Args[1:]), ended)
	return Result{Code: c.cmd.ProcessState.ExitCode(), Out: c.out.String(), Err: c.err.String()}
}

// Write puts a file into the working directory of the commands.
func (p *Product) Write(name, content string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.Dir, name), []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// Every returns the runs, in the order of their names.
func (p *Product) Every() []Run {
	p.t.Helper()
	return Every(p.t, p.Runs)
}

// Only returns the one run there is.
func (p *Product) Only() Run {
	p.t.Helper()
	runs := p.Every()
	if len(runs) != 1 {
		p.t.Fatalf("%d runs in %q, want 1", len(runs), p.Runs)
	}
	return runs[0]
}
