package local

import (
	"context"
	"errors"
	"path/filepath"

	executor "bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runs"
)

// Kind finds the runs whose folders lie on this machine: those that were executed here, and imported ones.
type Kind struct {
	Root    func() (string, error)                        // folder of runs
	Options func() (o Options, release func(), err error) // of a run that goes on here; release is for after it
}

var _ runs.Kind = Kind{}

// Find finds a run by its name, the only start of one, or the path of its folder.
func (k Kind) Find(_ context.Context, name string) (runs.Run, error) {
	root, err := k.Root()
	if err != nil {
		return nil, err
	}
	dir, err := Dir(root, name)
	if err != nil {
		return nil, err
	}
	r := run{kind: k, asked: name, dir: dir}
	if _, err := executor.StatusOf(dir); errors.Is(err, executor.ErrNoRun) {
		if status, ok := importedStatus(dir); ok {
			return &imported{run: r, status: status}, nil
		}
	}
	return &r, nil
}

// List describes every run; without all, those that belong to no matrix.
func (k Kind) List(_ context.Context, all bool) ([]runs.Status, error) {
	root, err := k.Root()
	if err != nil {
		return nil, err
	}
	here, err := executor.List(root)
	if err != nil {
		return nil, err
	}
	rows := statuses(append(here, importedRuns(root)...))
	if !all {
		rows, _ = part(rows)
	}
	for i := range rows {
		describe(&rows[i])
	}
	return rows, nil
}

// NamesOf are the names of all folders of runs.
func (k Kind) NamesOf(context.Context) []string {
	root, err := k.Root()
	if err != nil {
		return nil
	}
	names, _ := Names(root) // what cannot be read has no name to offer
	return names
}

func statuses(all []executor.Status) []runs.Status {
	out := make([]runs.Status, len(all))
	for i, r := range all {
		out[i] = runs.Status{Status: r}
	}
	return out
}

// describe adds what a run of this machine is for and what it has found, as far as its folder tells.
func describe(s *runs.Status) {
	var plan *runplan.RunPlan
	if r, err := report.Read(s.RunDir); err == nil {
		plan, s.TTFT = r.Plan, runs.TTFT(r)
	}
	if plan == nil {
		plan, _ = runplan.Read(s.RunDir) // one that cannot be read tells nothing
	}
	if plan != nil {
		s.Experiment, s.PlanHash = plan.Experiment, plan.Hash
		s.Model, s.Load = plan.Deployment.Model.Name, plan.Load()
	}
}

// base is the name of a run by its folder.
func (r *run) base() string { return filepath.Base(r.dir) }
