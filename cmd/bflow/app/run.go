package app

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/literal"
	"bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/runs/local"
	"bflow.dev/bflow/runs/resolve"
	"bflow.dev/bflow/tasks/loadgen/external"
	"bflow.dev/bflow/tasks/step"
)

func plainFlag() cli.Flag {
	return &cli.BoolFlag{Name: "plain", Usage: "print no progress bars and no colours, even on a terminal"}
}

// secretFlag is for the commands that run something on this machine.
func secretFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "secret",
		Usage: "NAME/KEY=env:VARIABLE or NAME/KEY=file:PATH: read the value of a Secret's key from this " +
			"machine (default: variable BFLOW_SECRET_NAME_KEY); repeatable"}
}

func runCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "run an experiment on the cluster or on this machine",
		ArgsUsage: "FILE...",
		Description: "Without --local, submits the runs to the cluster of the kubeconfig, prints their names and returns. " +
			"Use bflow watch, status,\n" +
			"logs, cancel and report with these names. With --follow, waits until the runs end and exits with " +
			"their code.",
		Flags: compileFlags(append(kubeFlags(), runsDirFlag(), plainFlag(), secretFlag(),
			&cli.BoolFlag{Name: "local", Usage: "run on this machine, without a cluster"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"},
				Usage: "on a cluster: wait until the runs end, and exit with their code"},
			&cli.DurationFlag{Name: "keep-for", DefaultText: "remove it",
				Usage: "let the model server stay this long after the run; bflow delete removes it before"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print what would run, without running it"})...),
		Action: func(c *cli.Context) error {
			in, opt, err := readTogether(c, s)
			if err != nil {
				return err
			}
			opt.Submitted = !c.Bool("local") && !c.Bool("dry-run")
			opt.Undeployable = plan.RejectUndeployable
			if c.Bool("local") {
				opt.FindTool = findTool
			}
			all, err := expand(c, s, in, opt)
			if err != nil {
				return err
			}
			if c.Bool("dry-run") {
				return writePlans(c, s.Out, in.Plans(all))
			}
			plans, err := in.Collect(all)
			if err != nil {
				return err
			}
			start, o := runLocal, compileOptions(c, in.Sum)
			if !c.Bool("local") {
				start, o.BflowImage = runCluster, opt.Lock["bflow"]
			}
			code, err := start(c, s, plans, o, resolve.Secrets(all))
			return exit(c, code, err)
		},
	}
}

// findTool looks for a load tool where load-gen will.
func findTool(tool, venv string) error {
	_, err := external.Find(tool, venv, os.Getenv)
	return err
}

// localOptions are the options of every command that executes runs here; release is for after the runs.
func localOptions(c *cli.Context, s Streams) (o local.Options, release func(), err error) {
	root, err := runsDir(c)
	if err != nil {
		return local.Options{}, nil, err
	}
	self, err := local.Self()
	if err != nil {
		return local.Options{}, nil, err
	}
	given, err := local.ParseGiven(c.StringSlice("secret"))
	if err != nil {
		return local.Options{}, nil, err
	}
	stop, end := secondSignal(c.Context, s)
	return local.Options{Root: root, Given: given, Self: self, Env: os.Environ(), Now: time.Now, Stop: stop}, end, nil
}

// secondSignal is closed when a person insists: the first signal, which ends ctx, lets the finally tasks run, the
// second does not. end ends the waiting for both.
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

// runLocal carries plans out on this machine.
func runLocal(c *cli.Context, s Streams, plans []*runplan.RunPlan, o compile.Options,
	keys []literal.Secret,
) (int, error) {
	opt, release, err := localOptions(c, s)
	if err != nil {
		return 0, err
	}
	defer release()
	opt.Compile, opt.Secrets = o, keys
	return local.Start(c.Context, console(c, s), plans, opt)
}

// runCluster submits plans.
func runCluster(c *cli.Context, s Streams, plans []*runplan.RunPlan, o compile.Options,
	keys []literal.Secret,
) (int, error) {
	if !source(c).IsKnown() {
		return 0, step.Usagef("running %s: no cluster is known; set KUBECONFIG or name one with --kubeconfig, or use "+
			"--local to run on this machine", c.Args().First())
	}
	return access(c).Start(c.Context, console(c, s), plans,
		cluster.StartOptions{Compile: o, PlatformGiven: c.IsSet("platform"), Secrets: keys, Follow: c.Bool("follow")})
}
