package app

import (
	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/cmd/bflow/localrun"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/tasks/checksums"
	"bflow.dev/bflow/tasks/provision"
	"bflow.dev/bflow/tasks/runplan"
	"bflow.dev/bflow/tasks/step"
)

func resumeCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "resume",
		Usage:     "go on with an interrupted run after its last finished task",
		ArgsUsage: "RUN",
		Flags:     []cli.Flag{runsDirFlag(), plainFlag(), secretFlag()},
		Action: func(c *cli.Context) error {
			dir, err := runArg(c)
			if err != nil {
				return err
			}
			status, err := local.StatusOf(dir)
			if err != nil {
				return err
			}
			if status.State == local.Succeeded {
				return step.Usagef("resuming run %q: nothing is left to do; bflow rerun makes a new run of the same plan", status.RunID)
			}
			if !status.Alive {
				if err := checksums.Verify(dir, nil); err != nil {
					return err
				}
				// What a killed executor left would hold ports and memory.
				if err := provision.Teardown(c.Context, dir); err != nil {
					return err
				}
			}
			return resume(c, s, dir, status.RunID)
		},
	}
}

func resume(c *cli.Context, s Streams, dir, runID string) error {
	o, end, err := localOptions(c, s)
	if err != nil {
		return err
	}
	defer end()
	plan, err := runplan.Read(dir)
	if err != nil {
		return err
	}
	display := newDisplay(c, s, 1)
	opt, err := localrun.Executor(o, dir, plan)
	if err != nil {
		return err
	}
	opt.Observer = display.Start(runID, dir, plan)
	status, err := local.Resume(c.Context, opt)
	display.Close()
	if err != nil {
		return err
	}
	return conclude(s, o.Root, []localrun.Outcome{{RunID: runID, RunDir: dir, Plan: plan, Status: status, Code: status.ExitCode}})
}
