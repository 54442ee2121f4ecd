package local

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	executor "bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/runs/progress"
	"bflow.dev/bflow/tasks/provision"
	"bflow.dev/bflow/tasks/step"
)

// run is a run in a folder of this machine.
type run struct {
	kind  Kind
	asked string // the name by which it was found
	dir   string
}

var (
	_ runs.Run     = (*run)(nil)
	_ runs.Planner = (*run)(nil)
	_ runs.Resumer = (*run)(nil)
)

// Names are that of its folder.
func (r *run) Names() []string { return []string{r.base()} }

// Status is what its journal says.
func (r *run) Status(context.Context) (runs.View, error) {
	status, err := executor.StatusOf(r.dir)
	return runs.ViewOf(runs.Status{Status: status}), err
}

// Follow shows the transitions of a run that another process executes.
func (r *run) Follow(ctx context.Context, on runs.Console) (int, error) {
	status, err := r.follow(ctx, on)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(on.Err, "%s: %s: %s\n", status.RunID, status.State, progress.Reason(status.Message))
	return status.ExitCode, nil
}

func (r *run) follow(ctx context.Context, on runs.Console) (executor.Status, error) {
	plan, err := runplan.Read(r.dir)
	if err != nil {
		return executor.Status{}, err
	}
	status, err := executor.StatusOf(r.dir)
	if err != nil {
		return status, err
	}
	display := progress.New(on.Err, on.ErrScreen, 1, on.Now)
	defer display.Close()
	observer := display.Start(status.RunID, r.dir, plan)
	shown := map[string]executor.State{}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, change := range progress.Changes(status, shown) {
			observer.Changed(change)
		}
		if !status.Alive {
			return status, nil
		}
		select {
		case <-ctx.Done():
			return status, step.Exit(contract.ExitInterrupted, fmt.Errorf("watching %s: interrupted; the run continues",
				status.RunID))
		case <-tick.C:
		}
		if status, err = executor.StatusOf(r.dir); err != nil {
			return status, err
		}
	}
}

// Logs prints the files that its steps have written.
func (r *run) Logs(_ context.Context, on runs.Console, o runs.LogOptions) error {
	if o.Follow {
		return step.Usagef("reading logs of %s: --follow is for runs on a cluster; follow this one with bflow watch %s",
			r.asked, r.asked)
	}
	if o.Engine {
		return copyLog(on.Out, filepath.Join(r.dir, contract.FileEngineLog), "")
	}
	status, err := executor.StatusOf(r.dir)
	if err != nil {
		return err
	}
	return taskLogs(on.Out, status, o.Task)
}

func taskLogs(w io.Writer, status executor.Status, only string) error {
	var names []string
	for _, t := range status.Tasks {
		names = append(names, t.Name)
	}
	if only != "" && !slices.Contains(names, only) {
		return step.Usagef("reading logs of %s: no task %q; it has %s", status.RunID, only, strings.Join(names, ", "))
	}
	for _, t := range status.Tasks {
		if only != "" && t.Name != only {
			continue
		}
		for _, r := range t.Runs {
			for _, st := range r.Steps {
				if err := copyLog(w, filepath.Join(status.RunDir, st.Log), "["+t.Name+"] "); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// copyLog prints a file, each line behind prefix.
func copyLog(w io.Writer, path, prefix string) error {
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading a log: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if _, err := fmt.Fprint(w, prefix, strings.TrimSuffix(line, "\n"), "\n"); err != nil {
			return err
		}
	}
	return nil
}

// Cancel tells its executor to stop.
func (r *run) Cancel(context.Context, bool) (string, error) {
	if err := executor.Cancel(r.dir); err != nil {
		return "", err
	}
	return fmt.Sprintf("asked the executor of %s to stop; follow it with bflow watch", r.asked), nil
}

// Plan reads its plan.
func (r *run) Plan(context.Context) (*runplan.RunPlan, error) { return runplan.Read(r.dir) }

// Rerun carries its plan out once more.
func (r *run) Rerun(ctx context.Context, _ runs.Console, o runs.RerunOptions) (int, error) {
	plan, err := r.Plan(ctx)
	if err == nil && o.Failed {
		err = step.Exit(contract.ExitUsage, &runs.NotMatrixError{Name: r.asked})
	}
	if err != nil {
		return 0, err
	}
	return o.Start(ctx, []*runplan.RunPlan{plan}, "plan "+plan.Digest)
}

// Delete ends what is left of it and removes its folder.
func (r *run) Delete(ctx context.Context, _ runs.Console, _ runs.DeleteOptions) error {
	return deleteDir(ctx, r.dir)
}

func deleteDir(ctx context.Context, dir string) error {
	if err := provision.Teardown(ctx, dir); err != nil {
		return err
	}
	return executor.Delete(dir)
}

// Results are its folder.
func (r *run) Results(context.Context, runs.Console) (runs.Results, error) {
	return runs.Results{Dirs: []string{r.dir}}, nil
}
