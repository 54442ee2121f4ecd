package app

import (
	"fmt"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	localrun "bflow.dev/bflow/runs/local"
	"bflow.dev/bflow/tasks/provision"
	"bflow.dev/bflow/tasks/step"
)

func resumeCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "resume",
		Usage:     "resume an interrupted run after its last completed task",
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
				return step.Usagef("resuming run %q: nothing is left to do; start a new run of the same plan with bflow rerun", status.RunID)
			}
			var again []string
			if !status.Alive {
				if again, err = measuredAgain(s, dir); err != nil {
					return err
				}
				// What a killed executor left would hold ports and memory.
				if err := provision.Teardown(c.Context, dir); err != nil {
					return err
				}
			}
			return resume(c, s, dir, status.RunID, again)
		},
	}
}

// measuredAgain are the tasks of measurements that are not what they were when they ended, each of which it tells.
func measuredAgain(s Streams, dir string) (tasks []string, err error) {
	plan, err := runplan.Read(dir)
	if err != nil {
		return nil, step.Exit(contract.ExitUsage, err)
	}
	damaged, err := checksums.VerifyKept(dir, len(plan.Measurements))
	if err != nil {
		return nil, err
	}
	for _, n := range slices.Sorted(maps.Keys(damaged)) {
		fmt.Fprintf(s.Err, "measurement %d (%q) is repeated: %q %s\n", n, plan.Measurements[n].Name, damaged[n].Path, damaged[n].Problem)
		tasks = append(tasks, pipelines.LoadTask(n))
	}
	return tasks, nil
}

func resume(c *cli.Context, s Streams, dir, runID string, again []string) error {
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
	opt.Observer, opt.Again = display.Start(runID, dir, plan), again
	status, err := local.Resume(c.Context, opt)
	display.Close()
	if err != nil {
		return err
	}
	_, code, err := conclude(c, s, o, []localrun.Outcome{{RunID: runID, RunDir: dir, Plan: plan, Status: status, Code: status.ExitCode}})
	if err != nil {
		return err
	}
	return silently(code)
}
