package app

import (
	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/tasks/step"
)

func resumeCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "resume",
		Usage:     "resume an interrupted run after its last completed task",
		ArgsUsage: "RUN",
		Flags:     []cli.Flag{runsDirFlag(), plainFlag(), secretFlag()},
		Action: func(c *cli.Context) error {
			name, err := oneArg(c, "run")
			if err != nil {
				return err
			}
			run, err := kindsOf(c, s).Find(c.Context, name, runs.Where{Local: true})
			if err != nil {
				return err
			}
			interrupted, ok := run.(runs.Resumer)
			if !ok {
				if err := runs.Single(run); err != nil {
					return exit(c, 0, err)
				}
				return step.Usagef("resuming run %s: a run of this kind cannot be resumed", run.Names()[0])
			}
			code, err := interrupted.Resume(c.Context, console(c, s))
			return exit(c, code, err)
		},
	}
}
