package app

import (
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/runs/local"
	"bflow.dev/bflow/runs/resolve"
	"bflow.dev/bflow/tasks/step"
)

func rerunCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "rerun",
		Usage:     "start a new run of the same plan, or a new matrix of the same points",
		ArgsUsage: "RUN|HASH|PLAN.json|MLFLOW-RUN-ID",
		Description: "HASH is the first 8 or more characters of a plan hash. An MLflow run is looked up at " +
			"MLFLOW_TRACKING_URI.\n" +
			"A cluster run runs on the cluster again, with the same queue and Pipeline; anything else runs on this " +
			"machine. --local and --cluster override this.",
		Flags: append(submitFlags(append(kubeFlags(), runsDirFlag(), plainFlag(), secretFlag(),
			&cli.BoolFlag{Name: "local", Usage: "run on this machine"},
			&cli.BoolFlag{Name: "cluster", Usage: "run on the cluster"},
			&cli.BoolFlag{Name: "failed", Usage: "only the points of a matrix that did not succeed"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"},
				Usage: "on a cluster: wait until the run ends, and exit with its code"})...),
			&cli.StringFlag{Name: "image-prefix",
				Usage: "registry and path of task images that the plan does not name"}),
		Action: func(c *cli.Context) error {
			what, err := oneArg(c, "run, plan hash, plan file or MLflow run id")
			if err != nil {
				return err
			}
			code, err := rerun(c, s, what)
			return exit(c, code, err)
		},
	}
}

// rerun looks for a plan file, a run of this machine of that name, one whose plan has that hash, a run of the cluster,
// and an MLflow run, in this order.
func rerun(c *cli.Context, s Streams, what string) (int, error) {
	if info, err := os.Stat(what); err == nil && info.Mode().IsRegular() {
		plan, err := resolve.ReadPlan(what)
		return rerunPlan(c, s, what, plan, err)
	}
	kinds := kindsOf(c, s)
	run, missing := kinds.Find(c.Context, what, runs.Where{Local: true})
	if missing == nil && c.Bool("cluster") {
		missing = runs.Single(run) // a matrix runs again where it lives: the cluster may have one of that name
	}
	if missing == nil {
		return rerunFound(c, s, what, run, c.Bool("cluster"))
	}
	root, err := runsDir(c)
	if err != nil {
		return 0, err
	}
	if plan, err := local.PlanByHash(root, what); plan != nil || err != nil {
		return rerunPlan(c, s, what, plan, err)
	}
	if clusterAsked(c) || kinds.ClusterKnown {
		run, err := kinds.Find(c.Context, what, runs.Where{Cluster: true})
		if err == nil {
			return rerunFound(c, s, what, run, c.Bool("local"))
		}
		missing = fmt.Errorf("%w; %w", missing, err)
	}
	plan, err := resolve.TrackedPlan(c.Context, what, missing)
	return rerunPlan(c, s, what, plan, err)
}

// rerunFound runs a run again where it lives, or its plan elsewhere.
func rerunFound(c *cli.Context, s Streams, what string, run runs.Run, elsewhere bool) (int, error) {
	planner, portable := run.(runs.Planner)
	if !elsewhere || !portable {
		return run.Rerun(c.Context, console(c, s), runs.RerunOptions{Failed: c.Bool("failed"), Follow: c.Bool("follow"),
			Start: startHere(c, s)})
	}
	plan, err := planner.Plan(c.Context)
	return rerunPlan(c, s, what, plan, err)
}

// rerunPlan carries one plan out here, or on the cluster where that is asked for.
func rerunPlan(c *cli.Context, s Streams, what string, plan *runplan.RunPlan, err error) (int, error) {
	if err == nil && c.Bool("failed") {
		err = step.Exit(contract.ExitUsage, &runs.NotMatrixError{Name: what})
	}
	if err == nil {
		err = resolve.CheckPlatform(plan)
	}
	if err != nil {
		return 0, err
	}
	plans, from := []*runplan.RunPlan{plan}, "plan "+plan.Digest
	if !c.Bool("cluster") {
		return startHere(c, s)(c.Context, plans, from)
	}
	if err := platform.All().Sealer().Move(plan, c.String("namespace")); err != nil {
		return 0, step.Exit(contract.ExitUsage, err)
	}
	return runCluster(c, s, plans, compileOptions(c, from), nil)
}

// startHere carries plans out on this machine, as flags say.
func startHere(c *cli.Context, s Streams) runs.Start {
	return func(_ context.Context, plans []*runplan.RunPlan, from string) (int, error) {
		return runLocal(c, s, plans, compileOptions(c, from), nil)
	}
}
