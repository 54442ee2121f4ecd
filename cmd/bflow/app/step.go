package app

import (
	"os"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/collect"
	"bflow.dev/bflow/tasks/loadgen"
	"bflow.dev/bflow/tasks/mlflow"
	"bflow.dev/bflow/tasks/provision"
	"bflow.dev/bflow/tasks/smoketest"
	"bflow.dev/bflow/tasks/step"
)

// steps are the task binaries that live in bflow as well, so that one file is enough on a laptop.
func steps() map[string]step.Func {
	return map[string]step.Func{
		contract.Provision:  provision.Run,
		contract.Smoketest:  smoketest.Run,
		contract.LoadGen:    loadgen.Run,
		contract.Collect:    collect.Run,
		contract.MLflowPush: mlflow.Run,
		"sim-engine":        sim.Command,
	}
}

// stepCommand runs a task binary inside bflow: `bflow step load-gen --run-dir=...`.
func stepCommand() *cli.Command {
	return &cli.Command{
		Name:            "step",
		Hidden:          true,
		SkipFlagParsing: true,
		Action: func(c *cli.Context) error {
			name := c.Args().First()
			task, ok := steps()[name]
			if !ok {
				return step.Usagef("running a step: unknown task %q", name)
			}
			s := step.Streams{Out: c.App.Writer, Err: c.App.ErrWriter, Env: os.Getenv}
			return runs.Code(step.Run(c.Context, name, task, s, c.Args().Tail()))
		},
	}
}
