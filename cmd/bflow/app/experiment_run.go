package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bflow.dev/bflow/cmd/bflow/clusterrun"
	"bflow.dev/bflow/cmd/bflow/experiment"
	"bflow.dev/bflow/cmd/bflow/gitsource"
	"bflow.dev/bflow/cmd/bflow/progress"
	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/literal"
	"bflow.dev/bflow/tasks/problem"
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
		fmt.Fprintf(e.s.Err, "nobody waits for the verdict; bflow watch %s follows the run\n", e.runs[0].ID)
		return nil
	}
	e.warn()
	display := progress.New(e.s.Err, screen.Screen{}, len(e.runs), time.Now)
	ended, err := e.cluster.Follow(ctx, e.runs, newFollower(e.s, display, e.runs, e.plans))
	display.Close()
	if ctx.Err() != nil {
		return e.farewell(ctx)
	}
	if err != nil {
		return err
	}
	return e.conclude(ctx, ended)
}

// resolve makes plans of the experiment, by the very steps of bflow run.
func (e *expedition) resolve(ctx context.Context) ([]literal.Secret, compile.Options, error) {
	in, found, err := e.read(ctx)
	if err != nil {
		return nil, compile.Options{}, err
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
		in, found := loadFiles(opt, strings.NewReader(e.request.Text), "-")
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
		return input{}, nil, fmt.Errorf("keeping the files of the repository: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := files.WriteTo(dir); err != nil {
		return input{}, nil, err
	}
	var names []string
	for _, p := range git.Paths {
		names = append(names, filepath.Join(dir, filepath.FromSlash(p)))
	}
	in, found := loadFiles(opt, strings.NewReader(""), names...)
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

// submit makes the runs, or finds those of an earlier try, and writes down what they are called. A signal does not cut it
// short: what is half done could not be cancelled.
func (e *expedition) submit(ctx context.Context, o compile.Options, keys []literal.Secret) error {
	started := e.parent.Annotations[contract.AnnotationStarted]
	if started == "" {
		started = "PipelineRun " + e.parent.Name
	}
	notes := map[string]string{contract.AnnotationSource: e.source, contract.AnnotationStarted: started}
	err := e.patiently(ctx, func(ctx context.Context) (err error) {
		e.runs, err = e.cluster.Submit(context.WithoutCancel(ctx), clusterrun.Submission{Plans: e.plans, Compile: o, Secrets: keys,
			Name: experiment.Names(string(e.parent.UID), e.parent.Created), Parent: e.parent, Notes: notes})
		return err
	})
	if err != nil {
		return refused(err)
	}
	var names, hashes []string
	for i, r := range e.runs {
		names, hashes = append(names, r.ID), append(hashes, e.plans[i].Hash)
		fmt.Fprintf(e.s.Out, "%s %s\n", r.ID, e.plans[i].Hash)
	}
	return e.results.Begin(names, hashes)
}

// warn says so when the PipelineRun ends before its runs can: an hour is what Tekton gives one of which nobody says more.
func (e *expedition) warn() {
	var longest time.Duration
	for _, p := range e.plans {
		longest = max(longest, p.Timeouts.Pipeline.D())
	}
	if t := e.parent.Timeout; t > 0 && t < longest {
		fmt.Fprintf(e.s.Err, "warning: this PipelineRun waits for %s at most, and a run may take %s after its time in the queue; when it ends before, the runs go on. Give it more time: tkn pipeline start --pipeline-timeout 24h\n",
			t, longest.Round(time.Minute))
	}
}
