// Package standalone runs load-gen without a plan, with the options of other load tools: it creates the plan and the
// run directory, runs the measurement like that of any plan, and writes the results where the tool would write them.
// It generates no load and parses no options itself: see packages loadgen and commandline.
package standalone

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/registry"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/loadgen/commandline"
	"bflow.dev/bflow/tasks/step"
)

// options are the flags of ours, which stand in front of the words of the tool.
type options struct {
	Lenient bool
	RunDir  string
}

func flags(o *options) *flag.FlagSet {
	fs := flag.NewFlagSet(contract.LoadGen, flag.ContinueOnError)
	fs.BoolVar(&o.Lenient, "lenient", false, "ignore options that load-gen does not support, with a warning")
	fs.StringVar(&o.RunDir, "run-dir", "", "run directory (default: "+contract.EnvRunDir+
		", else a new folder in the working directory)")
	return fs
}

// Spoken reports whether args, or without any the environment, are the words of another tool; flags of ours may stand
// in front of them.
func Spoken(args []string, environ func() []string) bool {
	var o options
	fs := flags(&o)
	fs.SetOutput(io.Discard)
	if fs.Parse(args) != nil {
		return false
	}
	return commandline.IsOfTool(registry.All(), fs.Args(), environ)
}

// Run does what args, or the environment, ask for. task is load-gen as a plan has it. The error has one of the exit
// codes of package contract: 2 for words that cannot be followed, 3 for a server that does not say which model it
// serves, else that of the measurement or of its verdict.
func Run(ctx context.Context, s step.Streams, args []string, environ func() []string, task step.Func) error {
	var o options
	fs := flags(&o)
	fs.SetOutput(s.Err)
	if err := fs.Parse(args); err != nil {
		return step.Exit(contract.ExitUsage, err)
	}
	req, err := understand(s.Err, fs.Args(), environ, o.Lenient)
	if err != nil {
		return err
	}
	if req.Model == "" {
		if req.Model, err = firstModel(ctx, req, s.Env); err != nil {
			return step.Exit(contract.ExitUnhealthy, err)
		}
	}
	r, err := newRun(req, o, s.Env)
	if err != nil {
		return err
	}
	return r.carryOut(ctx, s, task)
}

// understand reads the words and says everything that was found about them.
func understand(errs io.Writer, args []string, environ func() []string, lenient bool) (tool.Request, error) {
	req, findings, err := commandline.Parse(registry.All(), args,
		commandline.Options{Env: environ, Files: os.ReadFile, Lenient: lenient})
	wrong := 0
	for _, f := range findings {
		kind := "warning: "
		if !f.Warning {
			kind, wrong = "", wrong+1
		}
		fmt.Fprintf(errs, "%s: %s%v\n", contract.LoadGen, kind, f)
	}
	if err != nil {
		return req, step.Usagef("reading the options of %s: %d of them cannot be followed, see above; "+
			"--lenient before the name of the tool skips those that can be skipped", req.Tool, max(1, wrong))
	}
	return req, nil
}

// run is one run by the words of a tool.
type run struct {
	tool.Request
	plan *runplan.RunPlan
	id   string
	dir  string
}

// carryOut has the load put and writes what was asked for. What was measured is written however the measurement ended.
func (r *run) carryOut(ctx context.Context, s step.Streams, task step.Func) error {
	fmt.Fprintf(s.Err, "%s: the run directory is %s\n", contract.LoadGen, r.dir)
	failed := r.measure(ctx, s, task)
	if step.Code(failed) == contract.ExitUsage {
		return failed // nothing ran
	}
	rep, err := r.report()
	if err != nil {
		return errors.Join(failed, err)
	}
	if ctx.Err() != nil { // who ends the load wants to see what was measured; another signal ends the writing
		var stop func()
		ctx, stop = signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
		defer stop()
	}
	err = r.write(ctx, s.Out, rep)
	if tableErr := r.summarise(s.Out, rep); err == nil {
		err = tableErr
	}
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return err
	case rep.Verdict.ExitCode != contract.ExitPass:
		return step.Exit(rep.Verdict.ExitCode, fmt.Errorf("the verdict is %s", rep.Verdict.Verdict))
	}
	return nil
}

// measure runs load-gen with the plan. The key travels in the environment of the task alone.
func (r *run) measure(ctx context.Context, s step.Streams, task step.Func) error {
	env := s.Env
	s.Env = func(name string) string {
		if name == contract.EnvAPIKey && r.Key != "" {
			return string(r.Key)
		}
		return env(name)
	}
	if r.Quiet {
		s.Err = io.Discard
	}
	return task(ctx, s, []string{"--plan-dir", r.dir, "--run-dir", r.dir, "--run-id", r.id, "--endpoint", r.Endpoint})
}

// report makes report.json from what the run left.
func (r *run) report() (*report.Report, error) {
	rep, err := assemble.Report(r.dir)
	if err != nil {
		return nil, err
	}
	rep.Run.ID = r.id
	return rep, durable.WriteJSON(r.file(contract.FileReport), rep)
}

// summarise prints the table of every run and where its files are.
func (r *run) summarise(w io.Writer, rep *report.Report) error {
	if err := report.Table(w, screen.Screen{}, rep); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "run: %s\n", r.dir)
	return err
}
