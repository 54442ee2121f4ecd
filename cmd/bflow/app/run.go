package app

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runplan/literal"
	localrun "bflow.dev/bflow/runs/local"
	"bflow.dev/bflow/runs/progress"
	"bflow.dev/bflow/tasks/loadgen/external"
	"bflow.dev/bflow/verdict"
)

func plainFlag() cli.Flag {
	return &cli.BoolFlag{Name: "plain", Usage: "print no progress bars and no colours, even on a terminal"}
}

// secretFlag is for the commands that run something on this machine.
func secretFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "secret", Usage: "NAME/KEY=env:VARIABLE or NAME/KEY=file:PATH: read the value of a Secret's key from this machine (default: variable BFLOW_SECRET_NAME_KEY); repeatable"}
}

func runCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "run an experiment on the cluster or on this machine",
		ArgsUsage: "FILE...",
		Description: "Without --local, submits the runs to the cluster of the kubeconfig, prints their names and returns. Use bflow watch, status,\n" +
			"logs, cancel and report with these names. With --follow, waits until the runs end and exits with their code.",
		Flags: compileFlags(append(kubeFlags(), runsDirFlag(), plainFlag(), secretFlag(),
			&cli.BoolFlag{Name: "local", Usage: "run on this machine, without a cluster"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "on a cluster: wait until the runs end, and exit with their code"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print what would run, without running it"})...),
		Action: func(c *cli.Context) error {
			in, err := readFiles(c, s, spec.Options{})
			if err != nil {
				return err
			}
			if err := tell(s, oneName(in)); err != nil {
				return err
			}
			opt, err := planOptions(c)
			if err != nil {
				return err
			}
			opt.Submitted = !c.Bool("local") && !c.Bool("dry-run")
			if c.Bool("local") {
				opt.FindTool = findTool
			}
			all, err := expand(c, s, in, opt)
			if err != nil {
				return err
			}
			if c.Bool("dry-run") {
				return writePlans(c, s.Out, stream(in, all))
			}
			plans, err := collectPlans(in, all)
			if err != nil {
				return err
			}
			if c.Bool("local") {
				return runLocal(c, s, plans, compileOptions(c, in), secrets(all))
			}
			o := compileOptions(c, in)
			o.BflowImage = opt.Lock["bflow"]
			return runCluster(c, s, plans, o, secrets(all))
		},
	}
}

// findTool looks for a load tool where load-gen will.
func findTool(tool, venv string) error {
	_, err := external.Find(tool, venv, os.Getenv)
	return err
}

// localOptions are the options of every command that executes runs here; end is for after the runs.
func localOptions(c *cli.Context, s Streams) (o localrun.Options, end func(), err error) {
	root, err := runsDir(c)
	if err != nil {
		return localrun.Options{}, nil, err
	}
	self, err := localrun.Self()
	if err != nil {
		return localrun.Options{}, nil, err
	}
	given, err := localrun.ParseGiven(c.StringSlice("secret"))
	if err != nil {
		return localrun.Options{}, nil, err
	}
	stop, end := secondSignal(c.Context, s)
	return localrun.Options{Root: root, Given: given, Self: self, Env: os.Environ(), Now: time.Now, Stop: stop}, end, nil
}

// secondSignal is closed when a person insists: the first signal, which ends ctx, lets the finally tasks run, the second
// does not. end ends the waiting for both.
func secondSignal(ctx context.Context, s Streams) (second <-chan struct{}, end func()) {
	stop, over := make(chan struct{}), make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-ctx.Done():
		case <-over:
			return
		}
		fmt.Fprintln(s.Err, "stopping: cleaning up; interrupt again to stop at once")
		again := make(chan os.Signal, 1)
		signal.Notify(again, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(again)
		select {
		case <-again:
			close(stop)
		case <-over:
		}
	})
	return stop, func() {
		close(over)
		waiting.Wait()
	}
}

func runLocal(c *cli.Context, s Streams, plans []*runplan.RunPlan, o compile.Options, keys []literal.Secret) error {
	opt, end, err := localOptions(c, s)
	if err != nil {
		return err
	}
	defer end()
	opt.Compile, opt.Secrets = o, keys
	if len(plans) > 1 {
		opt.Matrix = newName(runplan.Base(plans[0].Experiment)) // its page lies under this name
	}
	group, err := beginGroup(c.Context, s, plans, &opt)
	if err != nil {
		return err
	}
	display := newDisplay(c, s, len(plans))
	opt.Observe = display.Start
	outcomes := localrun.Run(c.Context, plans, opt)
	display.Close()
	page, code, err := conclude(c, s, opt, outcomes)
	code = neverBegan(c.Context, s, len(plans), len(outcomes), code)
	group.end(c.Context, s, outcomes, page, code)
	if err != nil {
		return err
	}
	return silently(code)
}

// neverBegan adds to code that a signal came before runs were made: what is not there was not measured.
func neverBegan(ctx context.Context, s Streams, plans, made, code int) int {
	if ctx.Err() == nil || made == plans {
		return code
	}
	if plans == 1 {
		fmt.Fprintln(s.Err, "interrupted before the run began")
	} else {
		fmt.Fprintf(s.Err, "interrupted before %d of %d runs began\n", plans-made, plans)
	}
	return worst([]int{code, contract.ExitInterrupted})
}

// conclude prints the table of runs and returns their page, and the code that stands for all of them.
func conclude(c *cli.Context, s Streams, o localrun.Options, outcomes []localrun.Outcome) (page string, code int, err error) {
	var codes []int
	for _, out := range outcomes {
		codes = append(codes, out.Code)
		if out.Code != 0 {
			explainOutcome(s, out)
		}
	}
	over := ""
	if o.Matrix != "" {
		if over, err = pageIn(o.Root, o.Matrix); err != nil {
			return "", worst(codes), err
		}
	}
	page, err = headline(c, s, over, outcomes)
	return page, worst(codes), err
}

// explainOutcome says why a run is not green, in one sentence.
func explainOutcome(s Streams, out localrun.Outcome) {
	switch {
	case out.Err != nil:
		fmt.Fprintf(s.Err, "%s: %v\n", out.RunID, out.Err)
	case judged(out.Status): // the table says it, with its reasons
	case out.Status.State == local.Cancelled:
		fmt.Fprintf(s.Err, "%s: %s; resume it with bflow resume %s%s\n", out.RunID, out.Status.Message, out.RunID, partOf(out))
	case out.Status.Message != "":
		fmt.Fprintf(s.Err, "%s: %s; see bflow logs %s\n", out.RunID, progress.Reason(out.Status.Message), out.RunID)
	}
}

// partOf says how what a run has measured so far is shown, where it has begun to.
func partOf(out localrun.Outcome) string {
	if _, err := os.Stat(filepath.Join(out.RunDir, contract.DirMeasurement)); err != nil {
		return ""
	}
	return ", or see what was measured with bflow report " + out.RunID
}

// judged says whether a run is red for nothing but its verdict.
func judged(s local.Status) bool {
	fell := slices.IndexFunc(s.Tasks, func(t local.Task) bool { return t.State == local.Failed || t.State == local.TimedOut })
	return fell >= 0 && s.Tasks[fell].Name == contract.MLflowPush && s.Tasks[fell].Step == contract.StepVerdict
}

// worst is the code for several runs; an interruption is only that where nothing worse happened.
func worst(codes []int) int {
	if code := verdict.ExitCode(codes...); code != 0 {
		return code
	}
	for _, code := range codes {
		if code != 0 {
			return code
		}
	}
	return 0
}
