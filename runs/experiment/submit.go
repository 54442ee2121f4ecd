package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runplan/literal"
	"bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/runs/gitsource"
	"bflow.dev/bflow/runs/resolve"
	"bflow.dev/bflow/tasks/step"
)

// resolve makes plans of the experiment, by the very steps of bflow run.
func (t *task) resolve(ctx context.Context) ([]literal.Secret, compile.Options, error) {
	in, found, err := t.read(ctx)
	if err != nil {
		return nil, compile.Options{}, err
	}
	if found.Err() == nil {
		found.Add(in.OneName()...)
	}
	if err := resolve.PrintProblems(t.on.Err, found); err != nil {
		return nil, compile.Options{}, err
	}
	opt := plan.Options{MaxPoints: plan.DefaultMaxPoints, Version: step.Version, Namespace: t.parent.Namespace,
		Submitted: true, Undeployable: plan.RejectUndeployable}
	all, err := in.Expand(t.on.Err, opt, t.source)
	if err != nil {
		return nil, compile.Options{}, err
	}
	if t.plans, err = in.Collect(all); err != nil {
		return nil, compile.Options{}, err
	}
	o := compile.Options{Version: step.Version, Input: in.Sum, LoadCPU: t.request.LoadCPU, Bundle: t.request.Bundle}
	err = t.retry(ctx, func(ctx context.Context) error { return t.cluster.Adapt(ctx, &o, t.plans[0], false) })
	return resolve.Secrets(all), o, err
}

// read reads the experiment from the params, or from its repository. A second try of the task takes the commit that the
// first has taken.
func (t *task) read(ctx context.Context) (resolve.Input, problem.List, error) {
	opt := spec.Options{Set: t.request.Overrides}
	git := t.request.Git
	if git == nil {
		t.source = "param " + contract.ParamExperiment
		in, found := resolve.Load(ctx, opt, strings.NewReader(t.request.Text), "-")
		for i := range found {
			if found[i].File == "-" {
				found[i].File = contract.ParamExperiment
			}
		}
		return in, found, nil
	}
	if err := t.pin(ctx, git); err != nil {
		return resolve.Input{}, nil, err
	}
	files, err := gitsource.Fetch(ctx, *git, gitsource.Options{Credentials: t.GitDir})
	if err != nil {
		return resolve.Input{}, nil, err
	}
	t.source = fmt.Sprintf("%s@%s:%s", git.URL, files.Commit, strings.Join(git.Paths, " "))
	fmt.Fprintf(t.on.Err, "read %s\n", t.source)
	dir, err := os.MkdirTemp("", "bflow-git-")
	if err != nil {
		return resolve.Input{}, nil, fmt.Errorf("storing the files of the repository: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := files.WriteTo(dir); err != nil {
		return resolve.Input{}, nil, err
	}
	var names []string
	for _, p := range git.Paths {
		names = append(names, filepath.Join(dir, filepath.FromSlash(p)))
	}
	in, found := resolve.Load(ctx, opt, strings.NewReader(""), names...)
	for i := range found {
		found[i].File = strings.TrimPrefix(found[i].File, dir+string(filepath.Separator))
	}
	return in, found, nil
}

// pin makes git mean the commit of the runs that are there already.
func (t *task) pin(ctx context.Context, git *gitsource.Source) error {
	return t.retry(ctx, func(ctx context.Context) error {
		there, err := t.parent.Notes(ctx, contract.AnnotationSource)
		for _, source := range there {
			rest, ok := strings.CutPrefix(source, git.URL+"@")
			if commit, _, found := strings.Cut(rest, ":"); ok && found {
				git.Revision = commit
			}
		}
		return err
	})
}

// submit makes matrices and runs, or finds those of an earlier try, and writes down what they are called. A signal does
// not cut it short: what is half done could not be cancelled.
func (t *task) submit(ctx context.Context, o compile.Options, keys []literal.Secret) error {
	started := t.parent.Annotations[contract.AnnotationStarted]
	if started == "" {
		started = "PipelineRun " + t.parent.Name
	}
	sub := cluster.Submission{Compile: o, Secrets: keys, Parent: t.parent,
		Notes: map[string]string{contract.AnnotationSource: t.source, contract.AnnotationStarted: started}}
	if err := t.retry(ctx, func(ctx context.Context) error {
		return t.make(context.WithoutCancel(ctx),
			sub)
	}); err != nil {
		return errors.Join(err, t.takeBack(ctx))
	}
	var hashes []string
	for _, group := range t.groups() {
		if len(group) > 1 {
			hashes = append(hashes, hashesOf(group)...)
		}
	}
	t.names = nil
	for _, m := range t.matrices {
		t.names = append(t.names, m.Name())
		fmt.Fprintf(t.on.Out, "%s, a matrix of %d points\n", m.Name(), m.Points())
	}
	for i, r := range t.runs {
		t.names = append(t.names, r.ID)
		fmt.Fprintf(t.on.Out, "%s %s\n", r.ID, t.alone[i].Hash)
	}
	return t.Results.Begin(t.names, append(hashes, hashesOf(t.alone)...))
}

// takeBack cancels the matrices of the experiments before one that is refused: nobody would wait for them.
func (t *task) takeBack(ctx context.Context) error {
	if len(t.matrices) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeToEnd)
	defer cancel()
	met, err := t.parent.CancelChildren(ctx)
	for name := range met {
		fmt.Fprintf(t.on.Err, "cancelled %s, which had been created before\n", name)
	}
	return err
}

// groups are the plans of each experiment.
func (t *task) groups() [][]*runplan.RunPlan { return cluster.ByExperiment(t.plans) }

func hashesOf(plans []*runplan.RunPlan) (hashes []string) {
	for _, p := range plans {
		hashes = append(hashes, p.Hash)
	}
	return hashes
}

// make makes a matrix of every experiment of several points, as bflow run does, and runs of the others. Each has its
// name by its place, so that another try finds what this one has made.
func (t *task) make(ctx context.Context, sub cluster.Submission) error {
	sub.Name = Names(string(t.parent.UID), t.parent.Created)
	t.matrices, t.alone = nil, nil
	for _, group := range t.groups() {
		if len(group) == 1 {
			t.alone = append(t.alone, group...)
			continue
		}
		sub.Plans = group
		m, err := t.cluster.Matrices().Submit(ctx, sub)
		if err != nil {
			return err
		}
		t.matrices = append(t.matrices, m)
	}
	if len(t.alone) == 0 {
		return nil
	}
	var err error
	sub.Plans = t.alone
	t.runs, err = t.cluster.Submit(ctx, sub)
	return err
}

// warn says so when the PipelineRun ends before its runs can: an hour is what Tekton gives one of which nobody says
// more.
func (t *task) warn() {
	var longest time.Duration
	for _, group := range t.groups() {
		longest = max(longest, longestOf(group))
	}
	if most := t.parent.Timeout; most > 0 && most < longest {
		fmt.Fprintf(t.on.Err, "warning: this PipelineRun times out after %s, but its runs may take %s plus their time "+
			"in the queue; if it times out first, the runs continue without it; raise its timeout "+
			"with tkn pipeline start --pipeline-timeout 24h\n",
			most, longest.Round(time.Minute))
	}
}

// longestOf is how long the runs of an experiment may take once they start: as many beside each other as it lets, each
// for all of its time.
func longestOf(plans []*runplan.RunPlan) time.Duration {
	slots := make([]time.Duration, len(plans))
	if most := plans[0].Execution.MaxParallel; most > 0 && most < len(plans) {
		slots = slots[:most]
	}
	for _, p := range plans {
		first := slices.Index(slots, slices.Min(slots))
		slots[first] += p.Timeouts.Pipeline.D()
	}
	return slices.Max(slots)
}
