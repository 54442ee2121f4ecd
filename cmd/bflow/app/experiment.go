package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"bflow.dev/bflow/cmd/bflow/clusterrun"
	"bflow.dev/bflow/cmd/bflow/experiment"
	"bflow.dev/bflow/cmd/bflow/gitsource"
	"bflow.dev/bflow/cmd/bflow/progress"
	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/load"
	"bflow.dev/bflow/tasks/problem"
	"bflow.dev/bflow/tasks/runplan"
	"bflow.dev/bflow/tasks/step"
	"bflow.dev/bflow/tasks/verdict"
)

// experimentCommand is the task of Pipeline bflow-experiment.
func experimentCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:   "experiment",
		Usage:  "submit the experiment in the params of a PipelineRun, and wait for its verdict",
		Hidden: true, // it is for pods
		Description: "The task of Pipeline " + contract.Experiment + ". It reads the params of the PipelineRun that its pod belongs to, submits the runs as bflow run does, " +
			"waits for them and exits as they do. Ended because somebody cancels the PipelineRun, it cancels the runs.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "kubeconfig", Usage: "file with the way to the cluster (default: $KUBECONFIG, then ~/.kube/config, then --token-dir, then the account of the pod)"},
			&cli.StringFlag{Name: "token-dir", Usage: "folder of the Secret with the token of an account that may submit"},
			&cli.StringFlag{Name: "git-dir", Usage: "folder of the Secret with credentials of git servers"},
			&cli.StringFlag{Name: "pipelinerun", Usage: "PipelineRun whose params say what to run", Required: true},
			&cli.StringFlag{Name: "taskrun", Usage: "TaskRun that this is"},
			&cli.StringFlag{Name: "namespace", Usage: "of the PipelineRun, and of the runs", Required: true},
			&cli.StringFlag{Name: "verdict-result", Usage: "file for the verdict"},
			&cli.StringFlag{Name: "runs-result", Usage: "file for the names of the runs"},
			&cli.StringFlag{Name: "plan-hashes-result", Usage: "file for the hashes of their plans"},
		},
		Action: func(c *cli.Context) error {
			e := &expedition{s: s, taskRun: c.String("taskrun"), gitDir: c.String("git-dir"),
				results: experiment.Results{Verdict: c.String("verdict-result"), Runs: c.String("runs-result"), PlanHashes: c.String("plan-hashes-result")}}
			if err := e.begin(c); err != nil {
				return err
			}
			return e.run(c.Context)
		},
	}
}

// expedition is one experiment that a PipelineRun asks for.
type expedition struct {
	s               Streams
	taskRun, gitDir string
	results         experiment.Results

	cluster *clusterrun.Cluster
	parent  *clusterrun.Parent
	request experiment.Request
	source  string // where the file came from
	plans   []*runplan.RunPlan
	runs    []*clusterrun.Run
}

// begin finds out what is asked for.
func (e *expedition) begin(c *cli.Context) error {
	cfg, err := e.access(c)
	if err != nil {
		return err
	}
	err = e.patiently(c.Context, func(ctx context.Context) (err error) {
		if e.cluster, err = clusterrun.Connect(ctx, cfg, ""); err != nil {
			return err
		}
		e.cluster.Modest = true
		e.parent, err = e.cluster.Parent(ctx, c.String("namespace"), c.String("pipelinerun"))
		return err
	})
	if err != nil {
		return err
	}
	if e.request, err = experiment.Read(e.parent.Params); err != nil {
		return step.Exit(contract.ExitUsage, err)
	}
	return nil
}

// access is the way to the cluster: a kubeconfig where there is one, then the token of a mounted Secret, then the account
// of the pod.
func (e *expedition) access(c *cli.Context) (*rest.Config, error) {
	dir := c.String("token-dir")
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	token := filepath.Join(dir, "token")
	if _, err := os.Stat(token); dir == "" || err != nil || host == "" {
		cfg, _, err := kubeConfig(c)
		return cfg, err
	}
	klog.SetLogger(logr.Discard()) // what goes wrong is returned; client-go logs it as well
	return &rest.Config{Host: "https://" + net.JoinHostPort(host, port), BearerTokenFile: token, UserAgent: "bflow/" + step.Version,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "ca.crt")}}, nil
}

// Patience with an API server that is away: an upgrade of a control plane takes minutes.
const (
	outage     = 5 * time.Minute
	betweenTry = 2 * time.Second
)

// patiently does something again while the API server does not answer. What it does must be of no harm when it is done
// twice.
func (e *expedition) patiently(ctx context.Context, do func(context.Context) error) error {
	end := time.Now().Add(outage)
	for said := false; ; {
		err := do(ctx)
		var away *clusterrun.Unreachable
		passing := errors.As(err, &away) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) ||
			apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
		if !passing || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		if !said {
			said = true
			trouble(e.s, err)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(betweenTry):
		}
	}
}

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
	display := progress.New(e.s.Err, 0, len(e.runs), time.Now)
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
func (e *expedition) resolve(ctx context.Context) ([]load.Secret, compile.Options, error) {
	in, found, err := e.read(ctx)
	if err != nil {
		return nil, compile.Options{}, err
	}
	if err := tell(e.s, found); err != nil {
		return nil, compile.Options{}, err
	}
	all, err := expandAll(e.s, in, plan.Options{MaxPoints: plan.DefaultMaxPoints, Version: step.Version, Submitted: true}, e.source)
	if err != nil {
		return nil, compile.Options{}, err
	}
	if e.plans, err = collectPlans(in, all); err != nil {
		return nil, compile.Options{}, err
	}
	o := compile.Options{Version: step.Version, Input: in.sum, Namespace: e.parent.Namespace, LoadCPU: e.request.LoadCPU, Bundle: e.request.Bundle}
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
func (e *expedition) submit(ctx context.Context, o compile.Options, keys []load.Secret) error {
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

// conclude says how the runs ended, and ends as they did.
func (e *expedition) conclude(ctx context.Context, ended map[string]clusterrun.Status) error {
	var codes []int
	for _, r := range e.runs {
		status := ended[r.ID]
		codes = append(codes, status.ExitCode)
		if status.ExitCode != contract.ExitPass {
			fmt.Fprintf(e.s.Err, "%s: %s\n", r.ID, progress.Reason(status.Message))
		}
		if b, err := e.cluster.Brief(ctx, r); err != nil {
			fmt.Fprintf(e.s.Err, "warning: %v\n", err)
		} else if b != nil {
			fmt.Fprint(e.s.Out, experiment.Summary(b))
		}
	}
	code := worst(codes)
	word := ""
	if code != contract.ExitInterrupted {
		word = verdict.Word(code)
	}
	fmt.Fprintf(e.s.Err, "verdict: %s; bflow report %s shows the whole\n", word, e.runs[0].ID)
	if err := e.results.End(word); err != nil {
		return err
	}
	return silently(code)
}

// Time that a pod has between the signal and its end is thirty seconds.
const (
	timeToKnow = 12 * time.Second
	timeToEnd  = 12 * time.Second
)

// farewell does what the end of this task means for the runs: a cancelled PipelineRun cancels them; one that has waited
// too long, or whose node is drained, lets them go on.
func (e *expedition) farewell(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	asking, cancel := context.WithTimeout(ctx, timeToKnow)
	defer cancel()
	why := e.cluster.WhyEnds(asking, e.parent, e.taskRun)
	if why != clusterrun.ParentCancelled {
		return step.Exit(contract.ExitInterrupted, fmt.Errorf("waiting for %s: PipelineRun %s %s; the runs go on: bflow watch follows them, bflow cancel ends them", e.runs[0].ID, e.parent.Name, why))
	}
	ending, stop := context.WithTimeout(ctx, timeToEnd)
	defer stop()
	met, err := e.cluster.CancelChildren(ending, e.parent)
	for run, was := range met {
		if was == clusterrun.WasQueued {
			fmt.Fprintf(e.s.Err, "cancelled %s; it was waiting and will not start\n", run)
		} else {
			fmt.Fprintf(e.s.Err, "told %s to stop; its last tasks take everything down\n", run)
		}
	}
	if err != nil {
		return step.Exit(contract.ExitInterrupted, fmt.Errorf("cancelling the runs of %s: %w; bflow cancel ends them", e.parent.Name, err))
	}
	return silently(contract.ExitInterrupted)
}
