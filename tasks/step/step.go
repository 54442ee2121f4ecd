// Package step is the harness of a task binary: streams, common flags, exit codes, result and event files. It must
// not know what any task does.
package step

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"bflow.dev/bflow/runplan/contract"
)

// Streams are what a task may use of its process, so that it runs in memory under test.
type Streams struct {
	Out, Err io.Writer
	Env      func(string) string
}

// Func is a task: its arguments are those after the binary's name.
type Func func(ctx context.Context, s Streams, args []string) error

// Options are the flags every task has.
type Options struct {
	PlanDir    string // folder that holds plan.json or plan.json.gz
	RunDir     string
	RunID      string
	Attempt    int
	SecretsDir string // folder with the values of Secrets, as NAME/KEY; "" where the plan refers to none
}

// Register adds the common flags to fs.
func (o *Options) Register(fs *flag.FlagSet) {
	fs.StringVar(&o.PlanDir, "plan-dir", "", "folder with the plan (workspace plan)")
	fs.StringVar(&o.RunDir, "run-dir", "", "run directory (workspace run)")
	fs.StringVar(&o.RunID, "run-id", "", "name of the run")
	fs.StringVar(&o.SecretsDir, "secrets-dir", "",
		"folder with the Secrets that the plan refers to, one file NAME/KEY per value (workspace secrets)")
	fs.IntVar(&o.Attempt, "attempt", 1, "attempt of the run, counting from 1")
}

// ExitError carries the documented exit code of an error.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string { return e.Err.Error() }
func (e *ExitError) Unwrap() error { return e.Err }

// Exit returns err with an exit code, or nil for a nil err.
func Exit(code int, err error) error {
	if err == nil {
		return nil
	}
	return &ExitError{Code: code, Err: err}
}

// Usagef returns an error with the exit code of bad usage.
func Usagef(format string, args ...any) error {
	return Exit(contract.ExitUsage, fmt.Errorf(format, args...))
}

// Code returns the exit code of err: 0 for nil, 130 for a cancelled context, else that of the ExitError inside, else 1.
func Code(err error) int {
	var exit *ExitError
	switch {
	case err == nil:
		return contract.ExitPass
	case errors.As(err, &exit):
		return exit.Code
	case errors.Is(err, context.Canceled):
		return contract.ExitInterrupted
	default:
		return contract.ExitFail
	}
}

// Main runs task as the whole of a process and returns its exit code. The context ends on SIGINT and SIGTERM.
func Main(name string, task Func) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return Run(ctx, name, task, Streams{Out: os.Stdout, Err: os.Stderr, Env: os.Getenv}, os.Args[1:])
}

// Run runs task, prints its error as one sentence on s.Err and returns the exit code.
func Run(ctx context.Context, name string, task Func, s Streams, args []string) int {
	err := task(ctx, s, args)
	if errors.Is(err, flag.ErrHelp) {
		return contract.ExitPass
	}
	if err != nil {
		fmt.Fprintf(s.Err, "%s: %v\n", name, err)
	}
	return Code(err)
}
