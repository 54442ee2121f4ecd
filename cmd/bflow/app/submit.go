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

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runplan/literal"
	clusterrun "bflow.dev/bflow/runs/cluster"
	localrun "bflow.dev/bflow/runs/local"
	"bflow.dev/bflow/runs/progress"
	"bflow.dev/bflow/tasks/step"
)

// runCluster submits a run of every plan.
func runCluster(c *cli.Context, s Streams, plans []*runplan.RunPlan, o compile.Options, keys []literal.Secret) error {
	if !clusterKnown(c) {
		return step.Usagef("running %s: no cluster is known; set KUBECONFIG or name one with --kubeconfig, or use --local to run on this machine", c.Args().First())
	}
	cluster, _, err := connect(c)
	if err != nil {
		return err
	}
	if len(plans) > 1 && o.NoQueue {
		fmt.Fprintf(s.Err, "warning: %d runs start at once and compete for free devices; with a queue they would wait for each other\n", len(plans))
	}
	if err := cluster.Adapt(c.Context, &o, plans[0], c.IsSet("platform")); err != nil {
		return err
	}
	var matrices []*clusterrun.Matrix
	if o.Matrix && !o.NoQueue {
		if plans, matrices, err = runMatrices(c, s, cluster, plans, o, keys); err != nil {
			return err
		}
	}
	if len(plans) == 0 {
		return followAll(c, s, cluster, matrices, nil)
	}
	runs, err := cluster.Submit(c.Context, clusterrun.Submission{Plans: plans, Compile: o, Secrets: keys, Name: newName})
	if len(runs) > 0 {
		told(s, cluster, runs, c.Bool("follow"))
		tooBig(c.Context, s, cluster, runs)
	}
	if err != nil {
		return refused(err)
	}
	return followAll(c, s, cluster, matrices, func() error { return followCluster(c, s, cluster, runs, plans) })
}

// followAll follows matrices, one after another, and then runs, if that is asked for.
func followAll(c *cli.Context, s Streams, cluster *clusterrun.Cluster, matrices []*clusterrun.Matrix, runs func() error) error {
	if !c.Bool("follow") {
		return nil
	}
	var codes []int
	for _, m := range matrices {
		code, err := followMatrix(c, s, cluster, m)
		if err != nil {
			return err
		}
		codes = append(codes, code)
	}
	if runs == nil {
		return silently(worst(codes))
	}
	err := runs()
	var silent *silentError
	if err != nil && !errors.As(err, &silent) {
		return err
	}
	return silently(worst(append(codes, step.Code(err))))
}

func rerunCluster(c *cli.Context, s Streams, p place) error {
	run, err := p.cluster.Again(c.Context, p.run, newName)
	if err != nil {
		return refused(err)
	}
	told(s, p.cluster, []*clusterrun.Run{run}, c.Bool("follow"))
	tooBig(c.Context, s, p.cluster, []*clusterrun.Run{run})
	if !c.Bool("follow") {
		return nil
	}
	return followCluster(c, s, p.cluster, []*clusterrun.Run{run}, nil)
}

// tooBig warns of runs that cannot start on the cluster as it is.
func tooBig(ctx context.Context, s Streams, cluster *clusterrun.Cluster, runs []*clusterrun.Run) {
	for _, text := range cluster.TooBig(ctx, runs) {
		fmt.Fprintf(s.Err, "warning: %s\n", text)
	}
}

func newName(base string) string { return localrun.NewRunID(base, time.Now()) }

// refused is what the server said to a run, without the parts that only speak of its webhooks.
func refused(err error) error {
	var missing *clusterrun.MissingError
	if errors.As(err, &missing) {
		return err
	}
	return fmt.Errorf("%s", strings.NewReplacer(`admission webhook "validation.webhook.pipeline.tekton.dev" denied the request: `, "").Replace(err.Error()))
}

// told prints the names of new runs, one a line, and what to do with them.
func told(s Streams, cluster *clusterrun.Cluster, runs []*clusterrun.Run, follow bool) {
	for i, r := range runs {
		if i == 0 || r.Namespace != runs[i-1].Namespace {
			fmt.Fprintf(s.Err, "submitted to namespace %s of cluster %s\n", r.Namespace, cluster.Name)
		}
		fmt.Fprintln(s.Out, r.ID)
	}
	if !follow {
		fmt.Fprintf(s.Err, "follow it with bflow watch %s; see also bflow status, logs and cancel\n", runs[0].ID)
	}
}

// followCluster shows runs until they end, prints what came out, and exits as they did. plans are those of runs where
// they are known.
func followCluster(c *cli.Context, s Streams, cluster *clusterrun.Cluster, runs []*clusterrun.Run, plans []*runplan.RunPlan) error {
	f := newFollower(s, newDisplay(c, s, len(runs)), runs, plans)
	ended, err := cluster.Follow(c.Context, runs, f)
	f.display.Close()
	if c.Err() != nil {
		return step.Exit(contract.ExitInterrupted, fmt.Errorf("following %s: interrupted; it continues; follow it again with bflow watch %s, or end it with bflow cancel %s",
			runs[0].ID, runs[0].ID, runs[0].ID))
	}
	if err != nil {
		return err
	}
	return concludeCluster(c, s, cluster, runs, ended)
}

// concludeCluster says how runs ended and shows their reports.
func concludeCluster(c *cli.Context, s Streams, cluster *clusterrun.Cluster, runs []*clusterrun.Run, ended map[string]clusterrun.Status) error {
	var codes []int
	var outcomes []localrun.Outcome
	for _, r := range runs {
		status := ended[r.ID]
		codes = append(codes, status.ExitCode)
		if status.ExitCode != contract.ExitPass {
			more := ""
			if len(status.Tasks) > 0 {
				more = "; see bflow logs " + r.ID
			}
			fmt.Fprintf(s.Err, "%s: %s%s\n", r.ID, progress.Reason(status.Message), more)
		}
		dir, err := briefCopy(c, s, cluster, r)
		if err != nil {
			fmt.Fprintf(s.Err, "warning: no report of %s yet: %v; retry with bflow report %s\n", r.ID, err, r.ID)
			continue
		}
		if dir != "" {
			outcomes = append(outcomes, localrun.Outcome{RunID: r.ID, RunDir: dir})
		}
	}
	if len(outcomes) > 0 {
		root, err := runsDir(c)
		if err != nil {
			return err
		}
		if _, err := headline(c, s, filepath.Join(root, copiesDir, "matrix-"+outcomes[0].RunID+".html"), outcomes); err != nil {
			return err
		}
	}
	return silently(worst(codes))
}

// briefCopy fetches the report of a run that has ended, "" where it never measured anything.
func briefCopy(c *cli.Context, s Streams, cluster *clusterrun.Cluster, r *clusterrun.Run) (string, error) {
	ctx, cancel := context.WithTimeout(c.Context, 2*time.Minute)
	defer cancel()
	run, err := cluster.Find(ctx, r.ID, r.Namespace)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(run.Last().Status.ChildReferences, func(t tektonv1.ChildStatusReference) bool { return t.PipelineTaskName == contract.Collect }) {
		return "", nil // it ended before there was a report, and has said why
	}
	dir, err := fetchCopy(c, s, place{name: r.ID, cluster: cluster, run: run}, reportFiles)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, contract.FileReport)); err != nil {
		return "", nil
	}
	return dir, nil
}

// clusterFollower shows runs of a cluster as those of this machine are shown.
type clusterFollower struct {
	s       Streams
	display *progress.Display
	runs    map[string]*followed
}

func newFollower(s Streams, display *progress.Display, runs []*clusterrun.Run, plans []*runplan.RunPlan) *clusterFollower {
	f := &clusterFollower{s: s, display: display, runs: map[string]*followed{}}
	if len(runs) > 1 {
		f.display.NameRuns()
	}
	for i, r := range runs {
		f.runs[r.ID] = &followed{seen: map[string]local.State{}}
		if i < len(plans) {
			f.runs[r.ID].plan = plans[i]
		}
	}
	return f
}

// followed is what was shown of a run.
type followed struct {
	plan     *runplan.RunPlan
	observer local.Observer
	seen     map[string]local.State
	attempt  int
	said     string
}

var _ clusterrun.Observer = (*clusterFollower)(nil)

// Changed shows what is new.
func (f *clusterFollower) Changed(s clusterrun.Status) {
	r := f.runs[s.RunID]
	if r == nil {
		return
	}
	if r.observer == nil {
		r.observer, r.attempt = f.display.Start(s.RunID, s.RunID, r.plan), s.Attempt
	}
	if s.Attempt != r.attempt {
		r.attempt, r.seen = s.Attempt, map[string]local.State{}
		f.display.Say(s.RunID, "attempt %d", s.Attempt)
	}
	if s.Alive && s.Message != "" && s.Message != r.said {
		f.display.Say(s.RunID, "%s", s.Message)
	}
	r.said = s.Message
	for _, record := range changes(s.Status, r.seen) {
		r.observer.Changed(record)
	}
}

// Progress moves the bar of a load-gen.
func (f *clusterFollower) Progress(run, _ string, p report.Progress) { f.display.Progress(run, p) }

// Started is not shown: the task's line says it when it ends.
func (f *clusterFollower) Started(string, string, string, string, string) {}

// Trouble says that the cluster does not answer, and that it does again.
func (f *clusterFollower) Trouble(err error) {
	if err == nil {
		f.display.Say("", "the cluster answers again")
		return
	}
	f.display.Say("", "%v; retrying, the runs continue", err)
}

// trouble is the same without a display.
func trouble(s Streams, err error) {
	if err == nil {
		fmt.Fprintln(s.Err, "the cluster answers again")
		return
	}
	fmt.Fprintf(s.Err, "%v; retrying\n", err)
}
