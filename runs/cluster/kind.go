package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/tasks/step"
)

// Kind finds the runs of a cluster.
type Kind struct{ *Access }

var (
	_ runs.Kind   = Kind{}
	_ runs.Keeper = Kind{}
)

// Find finds a run by its name, that of one of its attempts, or the only start of its name.
func (k Kind) Find(ctx context.Context, name string) (runs.Run, error) {
	c, namespaces, err := k.connect(ctx)
	if err != nil {
		return nil, err
	}
	run, err := c.Find(ctx, name, namespaces...)
	if err != nil {
		return nil, err
	}
	return &foundRun{access: k.Access, c: c, run: run}, nil
}

// List has a row for each run; without all, for those that belong to no matrix.
func (k Kind) List(ctx context.Context, all bool) ([]runs.Status, error) {
	c, namespaces, err := k.connect(ctx)
	if err != nil {
		return nil, err
	}
	list := c.RunsAlone
	if all {
		list = c.Runs
	}
	found, denied, err := inNamespaces(namespaces, func(n string) ([]Run, error) { return list(ctx, n) })
	if err != nil {
		return nil, err
	}
	briefs := c.BriefsOf(ctx, found)
	var rows []runs.Status
	for _, r := range found {
		row := StatusOf(&r, nil)
		row.Cluster = c.Name
		if b := briefs[r.Namespace+"/"+r.ID]; b != nil {
			row.TTFT = runs.TTFT(b.Report())
		}
		rows = append(rows, row)
	}
	return rows, denied
}

// NamesOf are the names of the runs.
func (k Kind) NamesOf(ctx context.Context) []string { return namesIn(k.List(ctx, false)) }

func namesIn(rows []runs.Status, _ error) (names []string) {
	for _, r := range rows {
		names = append(names, r.RunID)
	}
	return names
}

// Kept finds the folder of a run whose results have all been fetched.
func (k Kind) Kept(name string) (string, bool) { return k.Copies.complete(name) }

// foundRun is a run of a cluster that was asked for.
type foundRun struct {
	access *Access
	c      *Cluster
	run    *Run
}

var (
	_ runs.Run     = (*foundRun)(nil)
	_ runs.Planner = (*foundRun)(nil)
	_ runs.Fetcher = (*foundRun)(nil)
)

// Names are that of the run and those of its attempts.
func (f *foundRun) Names() []string {
	names := []string{f.run.ID}
	for _, pr := range f.run.Attempts {
		names = append(names, pr.Name)
	}
	return names
}

// Status asks for everything a person may want to know.
func (f *foundRun) Status(ctx context.Context) (runs.View, error) {
	status, err := f.c.Status(ctx, f.run)
	return runs.ViewOf(status), err
}

// Follow shows the run until it ends, and what came out.
func (f *foundRun) Follow(ctx context.Context, on runs.Console) (int, error) {
	return f.access.follow(ctx, on, []*Run{f.run}, nil)
}

// Logs prints the logs of pods.
func (f *foundRun) Logs(ctx context.Context, on runs.Console, o runs.LogOptions) error {
	line := func(source, text string) error {
		_, err := fmt.Fprintf(on.Out, "[%s] %s\n", source, text)
		return err
	}
	gone := func(task string) {
		fmt.Fprintf(on.Err, "the pod of task %s is gone with its log; fetch what the run has recorded with bflow "+
			"fetch %s\n", task, f.run.ID)
	}
	var err error
	switch {
	case o.Engine:
		if err = f.c.EngineLogs(ctx, f.run, o.Follow, line); errors.Is(err, ErrNoEngine) {
			err = fmt.Errorf("%w; once task release has run, the logs are among the results: bflow fetch %s --only "+
				"deployment/", err, f.run.ID)
		}
	case o.Follow:
		_, err = f.c.FollowLogs(ctx, f.run, o.Task, line, func(err error) { PrintTrouble(on, err) })
	default:
		err = f.c.Logs(ctx, f.run, o.Task, line, gone)
	}
	var none *NoTaskError
	switch {
	case errors.As(err, &none):
		return step.Exit(contract.ExitUsage, err)
	case ctx.Err() != nil:
		return runs.Code(contract.ExitInterrupted)
	}
	return err
}

// Cancel asks for the end of the run.
func (f *foundRun) Cancel(ctx context.Context, force bool) (string, error) {
	met, err := f.c.Cancel(ctx, f.run, force, time.Now())
	if err != nil {
		return "", err
	}
	switch id := f.run.ID; met {
	case WasQueued:
		return fmt.Sprintf("cancelled %s; it was waiting and will not start", id), nil
	case WasOver:
		return fmt.Sprintf("%s has already ended; nothing was cancelled", id), nil
	default:
		return fmt.Sprintf("stopping %s; its finally tasks clean up; follow it with bflow watch %s", id,
			id), nil
	}
}

// Plan reads its plan.
func (f *foundRun) Plan(ctx context.Context) (*runplan.RunPlan, error) {
	text, err := f.c.Plan(ctx, f.run)
	if err != nil {
		return nil, err
	}
	plan, err := runplan.Decode(text)
	if err != nil {
		return nil, step.Usagef("reading the plan of run %s: %w", f.run.ID, err)
	}
	return plan, nil
}

// Rerun makes a new run with the queue and the Pipeline of this one.
func (f *foundRun) Rerun(ctx context.Context, on runs.Console, o runs.RerunOptions) (int, error) {
	if o.Failed {
		return 0, step.Exit(contract.ExitUsage, &runs.NotMatrixError{Name: f.run.ID})
	}
	run, err := f.c.Again(ctx, f.run, f.access.NewName)
	if err != nil {
		return 0, err
	}
	printSubmitted(on, f.c, []*Run{run}, o.Follow)
	warnTooBig(ctx, on, f.c, []*Run{run})
	if !o.Follow {
		return contract.ExitPass, nil
	}
	return f.access.follow(ctx, on, []*Run{run}, nil)
}

// Delete removes the run, and the copy of its results unless that is kept.
func (f *foundRun) Delete(ctx context.Context, on runs.Console, o runs.DeleteOptions) error {
	if o.KeepResults {
		dir, err := f.access.Copies.fetch(ctx, on, f.c, f.run, nil)
		if err != nil {
			return err
		}
		fmt.Fprintf(on.Err, "the results of %s are in %s\n", f.run.ID, dir)
	}
	err := f.c.deleteRun(ctx, on, f.run, o.Force)
	if ctx.Err() != nil {
		return step.Exit(contract.ExitInterrupted, fmt.Errorf("deleting %s: interrupted; its deletion continues",
			f.run.ID))
	}
	if errors.Is(err, ErrAlive) {
		return fmt.Errorf("%w; cancel it with bflow cancel %s, or delete it anyway with --force", err, f.run.ID)
	}
	if err != nil || o.KeepResults {
		return err
	}
	return f.access.Copies.remove(f.run.ID)
}

// Results fetches them once; only those of a run that has not ended are fetched again.
func (f *foundRun) Results(ctx context.Context, on runs.Console) (runs.Results, error) {
	dir, err := f.access.Copies.fetch(ctx, on, f.c, f.run, nil)
	return runs.Results{Dirs: []string{dir}}, err
}

// Fetch brings the results to a folder.
func (f *foundRun) Fetch(ctx context.Context, on runs.Console, o runs.FetchOptions) (err error) {
	dir := o.Into
	if dir != "" {
		err = f.access.Copies.fetchInto(ctx, on, f.c, f.run, dir, o.Only)
	} else {
		dir, err = f.access.Copies.fetch(ctx, on, f.c, f.run, o.Only)
	}
	if err == nil {
		_, err = fmt.Fprintln(on.Out, dir)
	}
	return err
}
