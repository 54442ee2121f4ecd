package local

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"bflow.dev/bflow/pipelines"
	executor "bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/runs/progress"
	"bflow.dev/bflow/tasks/provision"
	"bflow.dev/bflow/tasks/step"
)

// Resume goes on with an interrupted run after its last finished task, and prints what it came to.
func (r *run) Resume(ctx context.Context, on runs.Console) (int, error) {
	status, err := executor.StatusOf(r.dir)
	if err != nil {
		return 0, err
	}
	if status.State == executor.Succeeded {
		return 0, step.Usagef("resuming run %q: nothing is left to do; start a new run of the same plan with bflow rerun",
			status.RunID)
	}
	var again []string
	if !status.Alive {
		if again, err = damagedTasks(on, r.dir); err != nil {
			return 0, err
		}
		// What a killed executor left would hold ports and memory.
		if err := provision.Teardown(ctx, r.dir); err != nil {
			return 0, err
		}
	}
	return r.resume(ctx, on, status.RunID, again)
}

// damagedTasks are the tasks of measurements that are not what they were when they ended, each of which it says.
func damagedTasks(on runs.Console, dir string) (tasks []string, err error) {
	plan, err := runplan.Read(dir)
	if err != nil {
		return nil, step.Exit(contract.ExitUsage, err)
	}
	damaged, err := checksums.VerifyKept(dir, len(plan.Measurements))
	if err != nil {
		return nil, err
	}
	for _, n := range slices.Sorted(maps.Keys(damaged)) {
		fmt.Fprintf(on.Err, "measurement %d (%q) is repeated: %q %s\n", n, plan.Measurements[n].Name, damaged[n].Path,
			damaged[n].Problem)
		tasks = append(tasks, pipelines.LoadTask(n))
	}
	return tasks, nil
}

func (r *run) resume(ctx context.Context, on runs.Console, runID string, again []string) (int, error) {
	o, release, err := r.kind.Options()
	if err != nil {
		return 0, err
	}
	defer release()
	plan, err := runplan.Read(r.dir)
	if err != nil {
		return 0, err
	}
	display := progress.New(on.Err, on.ErrScreen, 1, on.Now)
	o.Say = display.Say
	var status executor.Status
	opt, err := Executor(o, r.dir, plan)
	if err == nil {
		opt.Observer, opt.Again = display.Start(runID, r.dir, plan), again
		status, err = executor.Resume(ctx, opt)
	}
	display.Close()
	if err != nil {
		return 0, err
	}
	_, code, err := conclude(on, o,
		[]runs.Outcome{{RunID: runID, RunDir: r.dir, Plan: plan, Status: status, Code: status.ExitCode}})
	return code, err
}
