package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runplan/literal"
	clusterrun "bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/tasks/step"
)

func flatFlag() cli.Flag {
	return &cli.BoolFlag{Name: "flat", Usage: "submit an independent run for every point, all at once, instead of a matrix"}
}

// byExperiment divides plans into those that belong together.
func byExperiment(plans []*runplan.RunPlan) [][]*runplan.RunPlan {
	var groups [][]*runplan.RunPlan
	for i, p := range plans {
		if i == 0 || p.Experiment != plans[i-1].Experiment {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], p)
	}
	return groups
}

// runMatrices submits a matrix for every experiment of several points, and follows one after another. Plans that stand
// alone are left for runs of their own.
func runMatrices(c *cli.Context, s Streams, cluster *clusterrun.Cluster, plans []*runplan.RunPlan, o compile.Options, keys []literal.Secret) ([]*runplan.RunPlan, []*clusterrun.Matrix, error) {
	var alone []*runplan.RunPlan
	var made []*clusterrun.Matrix
	for _, group := range byExperiment(plans) {
		if len(group) == 1 {
			alone = append(alone, group...)
			continue
		}
		m, err := cluster.SubmitMatrix(c.Context, clusterrun.Submission{Plans: group, Compile: o, Secrets: keys, Name: newName})
		if err != nil {
			return nil, made, refused(err)
		}
		toldMatrix(s, cluster, m, len(group), c.Bool("follow"))
		made = append(made, m)
	}
	return alone, made, nil
}

func toldMatrix(s Streams, cluster *clusterrun.Cluster, m *clusterrun.Matrix, points int, follow bool) {
	fmt.Fprintf(s.Err, "submitted a matrix of %d points to namespace %s of cluster %s\n", points, m.Namespace(), cluster.Name)
	fmt.Fprintln(s.Out, m.Name())
	if !follow {
		fmt.Fprintf(s.Err, "follow it with bflow watch %s; see also bflow status, cancel, report and rerun --failed\n", m.Name())
	}
}

// followMatrix shows a matrix until it ends, and exits as its runs did.
func followMatrix(c *cli.Context, s Streams, cluster *clusterrun.Cluster, m *clusterrun.Matrix) (int, error) {
	t := newLiveTable(s.Err, screenOf(c, s.Err), time.Now)
	ended, err := cluster.FollowMatrix(c.Context, m, t.show, func(err error) { t.say("%s", interruption(err)) })
	t.close()
	if c.Err() != nil {
		return 0, step.Exit(contract.ExitInterrupted, fmt.Errorf("following %s: interrupted; it continues; follow it again with bflow watch %s, or end it with bflow cancel %s", m.Name(), m.Name(), m.Name()))
	}
	if err != nil {
		return 0, err
	}
	return concludeMatrix(c.Context, s, screenOf(c, s.Out), cluster, ended)
}

func interruption(err error) string {
	if err == nil {
		return "the cluster answers again"
	}
	return err.Error() + "; retrying, the runs continue"
}

// concludeMatrix says how a matrix ended, and returns the code that stands for all its runs.
func concludeMatrix(ctx context.Context, s Streams, on screen.Screen, cluster *clusterrun.Cluster, m *clusterrun.Matrix) (int, error) {
	status, err := m.Status()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	briefs, err := cluster.Briefs(ctx, m)
	if err != nil {
		fmt.Fprintf(s.Err, "warning: %v\n", err)
	}
	fmt.Fprintf(s.Err, "%s: %s\n", m.Name(), status.Message)
	for _, note := range status.Notes {
		fmt.Fprintf(s.Err, "  %s\n", note)
	}
	_, outcomes, err := m.State()
	if err != nil {
		return 0, err
	}
	const most = 10
	told := 0
	for i, o := range outcomes {
		if !o.Red() || told == most {
			continue
		}
		told++
		why := o.Word()
		if i < len(briefs) && briefs[i] != nil {
			why = reasonOf(briefs[i], why)
		}
		fmt.Fprintf(s.Err, "  %s: %s\n", m.Child(i), why)
	}
	if n := clusterrun.Failed(outcomes); n > 0 {
		fmt.Fprintf(s.Err, "bflow rerun %s --failed runs %d points again\n", m.Name(), n)
	}
	if err := briefTable(s.Out, on, briefs); err != nil {
		return 0, err
	}
	return m.Exit(briefs)
}

func matrixStatusTable(w io.Writer, m *clusterrun.Matrix, r clusterrun.MatrixStatus) error {
	fmt.Fprintf(w, "Matrix:\t%s\nState:\t%s\nCluster:\t%s, namespace %s\n", r.Matrix, r.State, r.Cluster, r.Namespace)
	fmt.Fprintf(w, "Points:\t%d: %s\n", r.Points, r.Counts)
	if !r.Finish.IsZero() && r.Alive {
		fmt.Fprintf(w, "Ends:\tabout %s (in %s)\n", clock(r.Finish), state.Rough(time.Until(r.Finish)))
	}
	if r.Verdict != "" {
		fmt.Fprintf(w, "Verdict:\t%s\n", r.Verdict)
	}
	if r.Message != "" {
		fmt.Fprintf(w, "Message:\t%s\n", r.Message)
	}
	for _, line := range r.Waits {
		fmt.Fprintf(w, "Waits:\t%s\n", line)
	}
	for _, line := range r.Notes {
		fmt.Fprintf(w, "Note:\t%s\n", line)
	}
	_, outcomes, err := m.State()
	if err != nil {
		return err
	}
	const most = 20
	told := 0
	for i, o := range outcomes {
		if !o.Ended() || o.Good() {
			continue
		}
		if told++; told == 1 {
			fmt.Fprintln(w, "\nRUN\tPOINT\tOUTCOME")
		}
		if told <= most {
			fmt.Fprintf(w, "%s\t%d\t%s\n", m.Child(i), i+1, o.Word())
		}
	}
	if told > most {
		fmt.Fprintf(w, "and %d more\n", told-most)
	}
	return nil
}

func cancelMatrix(c *cli.Context, s Streams, p place) error {
	met, err := p.cluster.CancelMatrix(c.Context, p.matrix, c.Bool("force"), time.Now())
	if err != nil {
		return err
	}
	if met == clusterrun.WasOver {
		fmt.Fprintf(s.Err, "%s has already ended; nothing was cancelled\n", p.matrix.Name())
		return nil
	}
	fmt.Fprintf(s.Err, "stopping %s: no more runs start, and running ones are cleaned up; follow it with bflow watch %s\n", p.matrix.Name(), p.matrix.Name())
	return nil
}

func deleteMatrix(c *cli.Context, s Streams, p place) error {
	if c.Bool("keep-results") {
		return step.Usagef("deleting %s: --keep-results is for single runs; fetch the results of a matrix with bflow fetch", p.matrix.Name())
	}
	held := func(why string) { fmt.Fprintf(s.Err, "waiting for %s: %s\n", p.matrix.Name(), why) }
	var err error
	if c.Bool("force") && p.cluster.Orphaned(c.Context, time.Now()) {
		err = p.cluster.DeleteOrphanMatrix(c.Context, p.matrix, func(r *clusterrun.Run) error {
			return deleteRun(c, s, place{cluster: p.cluster, run: r})
		}, held)
	} else {
		err = p.cluster.DeleteMatrix(c.Context, p.matrix, c.Bool("force"), held)
	}
	if c.Err() != nil {
		return step.Exit(contract.ExitInterrupted, fmt.Errorf("deleting %s: interrupted; its deletion continues", p.matrix.Name()))
	}
	if errors.Is(err, clusterrun.ErrAlive) {
		return fmt.Errorf("%w; cancel it with bflow cancel %s, or delete it anyway with --force", err, p.matrix.Name())
	}
	return err
}

func rerunMatrix(c *cli.Context, s Streams, p place) error {
	m, err := p.cluster.AgainMatrix(c.Context, p.matrix, c.Bool("failed"), newName)
	if errors.Is(err, clusterrun.ErrNothing) {
		fmt.Fprintf(s.Err, "%v\n", err)
		return nil
	}
	if err != nil {
		return refused(err)
	}
	status, err := m.Status()
	if err != nil {
		return err
	}
	toldMatrix(s, p.cluster, m, status.Points, c.Bool("follow"))
	if !c.Bool("follow") {
		return nil
	}
	code, err := followMatrix(c, s, p.cluster, m)
	if err != nil {
		return err
	}
	return silently(code)
}

// showMatrix says how far a matrix is.
func showMatrix(c *cli.Context, s Streams, p place) error {
	status, err := p.matrix.Status()
	if err != nil {
		return err
	}
	status.Cluster = p.cluster.Name
	return show(c, s.Out, status, func(w io.Writer) error { return matrixStatusTable(w, p.matrix, status) })
}

// matrixArg finds the matrix that the command's one argument names, where it names one.
func matrixArg(c *cli.Context) (place, bool) {
	if c.NArg() != 1 || c.Bool("local") || !clusterAsked(c) && !clusterKnown(c) {
		return place{}, false
	}
	name := c.Args().First()
	if !c.Bool("cluster") {
		if _, err := runDir(c, name); err == nil {
			return place{}, false
		}
	}
	p, err := onCluster(c, name)
	return p, err == nil && p.matrix != nil
}

// listed are the runs of a namespace that a list shows; matrices gets the others, as one line each.
func listed(c *cli.Context, cluster *clusterrun.Cluster, namespace string, matrices *[]clusterrun.Matrix) ([]clusterrun.Run, error) {
	more, err := cluster.Matrices(c.Context, namespace)
	if err != nil {
		return nil, err
	}
	*matrices = append(*matrices, more...)
	if c.Bool("all") {
		return cluster.Runs(c.Context, namespace)
	}
	return cluster.RunsAlone(c.Context, namespace)
}

// matrixRow is a matrix as a line among runs.
func matrixRow(m *clusterrun.Matrix) (clusterrun.Status, error) {
	ms, err := m.Status()
	if err != nil {
		return clusterrun.Status{}, err
	}
	s := clusterrun.Status{Namespace: ms.Namespace, Experiment: ms.Experiment, Created: ms.Created,
		Model: m.Parent.Annotations[contract.AnnotationModel], Load: m.Parent.Annotations[contract.AnnotationLoad]}
	s.RunID, s.State, s.Alive, s.Started, s.Finished, s.Message, s.ExitCode, s.Attempt = ms.Matrix, ms.State, ms.Alive, ms.Created, ms.Finished, ms.Message, ms.ExitCode, 1
	if ms.Verdict != "" {
		s.Results = local.Results{contract.ResultVerdict: *tektonv1.NewStructuredValues(ms.Verdict)}
	}
	return s, nil
}
