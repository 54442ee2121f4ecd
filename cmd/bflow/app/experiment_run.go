package app

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
	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runplan/literal"
	clusterrun "bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/runs/experiment"
	"bflow.dev/bflow/runs/gitsource"
	"bflow.dev/bflow/runs/progress"
	"bflow.dev/bflow/tasks/step"
)

// run submits and waits.
func (e *expedition) run(ctx context.Context) error {
	keys, o, err := e.resolve(ctx)
	if err != nil {
		return err
	}
	if err := e.submit(ctx, o, keys); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return e.farewell(ctx)
	}
	if !e.request.Wait {
		fmt.Fprintf(e.s.Err, "not waiting for the verdict; follow it with bflow watch %s\n", e.names[0])
		return nil
	}
	e.warn()
	ended, err := e.follow(ctx)
	if ctx.Err() != nil {
		return e.farewell(ctx)
	}
	if err != nil {
		return err
	}
	return e.conclude(ctx, ended)
}

// follow shows matrices until they end, one after another, and then runs, of which it returns how they ended.
func (e *expedition) follow(ctx context.Context) (map[string]clusterrun.Status, error) {
	for i, m := range e.matrices {
		t := newLiveTable(e.s.Err, screen.Screen{}, time.Now)
		ended, err := e.cluster.FollowMatrix(ctx, m, t.show, func(err error) { t.say("%s", interruption(err)) })
		t.close()
		if err != nil {
			return nil, err
		}
		e.matrices[i] = ended
	}
	if len(e.runs) == 0 {
		return nil, nil
	}
	display := progress.New(e.s.Err, screen.Screen{}, len(e.runs), time.Now)
	defer display.Close()
	return e.cluster.Follow(ctx, e.runs, newFollower(e.s, display, e.runs, e.alone))
}

// resolve makes plans of the experiment, by the very steps of bflow run.
func (e *expedition) resolve(ctx context.Context) ([]literal.Secret, compile.Options, error) {
	in, found, err := e.read(ctx)
	if err != nil {
		return nil, compile.Options{}, err
	}
	if found.Err() == nil {
		found.Add(oneName(in)...)
	}
	if err := tell(e.s, found); err != nil {
		return nil, compile.Options{}, err
	}
	all, err := expandAll(e.s, in, plan.Options{MaxPoints: plan.DefaultMaxPoints, Version: step.Version, Namespace: e.parent.Namespace, Submitted: true}, e.source)
	if err != nil {
		return nil, compile.Options{}, err
	}
	if e.plans, err = collectPlans(in, all); err != nil {
		return nil, compile.Options{}, err
	}
	o := compile.Options{Version: step.Version, Input: in.sum, LoadCPU: e.request.LoadCPU, Bundle: e.request.Bundle}
	err = e.patiently(ctx, func(ctx context.Context) error { return e.cluster.Adapt(ctx, &o, e.plans[0], false) })
	return secrets(all), o, err
}

// read reads the experiment from the params, or from its repository. A second try of the task takes the commit that the
// first has taken.
func (e *expedition) read(ctx context.Context) (input, problem.List, error) {
	opt := spec.Options{Set: e.request.Overrides}
	git := e.request.Git
	if git == nil {
		e.source = "param " + contract.ParamExperiment
		in, found := loadFiles(ctx, opt, strings.NewReader(e.request.Text), "-")
		for i := range found {
			if found[i].File == "-" {
				found[i].File = contract.ParamExperiment
			}
		}
		return in, found, nil
	}
	if err := e.pin(ctx, git); err != nil {
		return input{}, nil, err
	}
	files, err := gitsource.Fetch(ctx, *git, gitsource.Options{Credentials: e.gitDir})
	if err != nil {
		return input{}, nil, err
	}
	e.source = fmt.Sprintf("%s@%s:%s", git.URL, files.Commit, strings.Join(git.Paths, " "))
	fmt.Fprintf(e.s.Err, "read %s\n", e.source)
	dir, err := os.MkdirTemp("", "bflow-git-")
	if err != nil {
		return input{}, nil, fmt.Errorf("storing the files of the repository: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := files.WriteTo(dir); err != nil {
		return input{}, nil, err
	}
	var names []string
	for _, p := range git.Paths {
		names = append(names, filepath.Join(dir, filepath.FromSlash(p)))
	}
	in, found := loadFiles(ctx, opt, strings.NewReader(""), names...)
	for i := range found {
		found[i].File = strings.TrimPrefix(found[i].File, dir+string(filepath.Separator))
	}
	return in, found, nil
}

// pin makes git mean the commit of the runs that are there already.
func (e *expedition) pin(ctx context.Context, git *gitsource.Source) error {
	return e.patiently(ctx, func(ctx context.Context) error {
		there, err := e.cluster.ChildrenOf(ctx, e.parent, contract.AnnotationSource)
		for _, source := range there {
			rest, ok := strings.CutPrefix(source, git.URL+"@")
			if commit, _, found := strings.Cut(rest, ":"); ok && found {
				git.Revision = commit
			}
		}
		return err
	})
}

// submit makes matrices and runs, or finds those of an earlier try, and writes down what they are called. A signal does not
// cut it short: what is half done could not be cancelled.
func (e *expedition) submit(ctx context.Context, o compile.Options, keys []literal.Secret) error {
	started := e.parent.Annotations[contract.AnnotationStarted]
	if started == "" {
		started = "PipelineRun " + e.parent.Name
	}
	sub := clusterrun.Submission{Compile: o, Secrets: keys, Parent: e.parent,
		Notes: map[string]string{contract.AnnotationSource: e.source, contract.AnnotationStarted: started}}
	if err := e.patiently(ctx, func(ctx context.Context) error { return e.make(context.WithoutCancel(ctx), sub) }); err != nil {
		return errors.Join(refused(err), e.takeBack(ctx))
	}
	var hashes []string
	for _, group := range e.groups() {
		if len(group) > 1 {
			hashes = append(hashes, hashesOf(group)...)
		}
	}
	e.names = nil
	for _, m := range e.matrices {
		e.names = append(e.names, m.Name())
		fmt.Fprintf(e.s.Out, "%s, a matrix of %d points\n", m.Name(), m.Points())
	}
	for i, r := range e.runs {
		e.names = append(e.names, r.ID)
		fmt.Fprintf(e.s.Out, "%s %s\n", r.ID, e.alone[i].Hash)
	}
	return e.results.Begin(e.names, append(hashes, hashesOf(e.alone)...))
}

// takeBack cancels the matrices of the experiments before one that is refused: nobody would wait for them.
func (e *expedition) takeBack(ctx context.Context) error {
	if len(e.matrices) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeToEnd)
	defer cancel()
	met, err := e.cluster.CancelChildren(ctx, e.parent)
	for name := range met {
		fmt.Fprintf(e.s.Err, "cancelled %s, which had been created before\n", name)
	}
	return err
}

// groups are the plans of each experiment.
func (e *expedition) groups() [][]*runplan.RunPlan { return byExperiment(e.plans) }

func hashesOf(plans []*runplan.RunPlan) (hashes []string) {
	for _, p := range plans {
		hashes = append(hashes, p.Hash)
	}
	return hashes
}

// make makes a matrix of every experiment of several points, as bflow run does, and runs of the others. Each has its name
// by its place, so that another try finds what this one has made.
func (e *expedition) make(ctx context.Context, sub clusterrun.Submission) error {
	sub.Name = experiment.Names(string(e.parent.UID), e.parent.Created)
	e.matrices, e.alone = nil, nil
	for _, group := range e.groups() {
		if len(group) == 1 {
			e.alone = append(e.alone, group...)
			continue
		}
		sub.Plans = group
		m, err := e.cluster.SubmitMatrix(ctx, sub)
		if err != nil {
			return err
		}
		e.matrices = append(e.matrices, m)
	}
	if len(e.alone) == 0 {
		return nil
	}
	var err error
	sub.Plans = e.alone
	e.runs, err = e.cluster.Submit(ctx, sub)
	return err
}

// warn says so when the PipelineRun ends before its runs can: an hour is what Tekton gives one of which nobody says more.
func (e *expedition) warn() {
	var longest time.Duration
	for _, group := range e.groups() {
		longest = max(longest, longestOf(group))
	}
	if t := e.parent.Timeout; t > 0 && t < longest {
		fmt.Fprintf(e.s.Err, "warning: this PipelineRun times out after %s, but its runs may take %s plus their time in the queue; if it times out first, the runs continue without it; raise its timeout with tkn pipeline start --pipeline-timeout 24h\n",
			t, longest.Round(time.Minute))
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
