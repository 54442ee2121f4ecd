package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	clusterrun "bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/runs/progress"
	"bflow.dev/bflow/tasks/step"
)

func listCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:        "list",
		Usage:       "list runs, newest first",
		Description: "Lists runs of this machine and, if a kubeconfig is set, of the cluster. With --cluster, --namespace, --kubeconfig or --context, lists only those of the cluster.",
		Flags:       worldFlags(outputFlag(), plainFlag(), &cli.BoolFlag{Name: "all", Usage: "also list the runs of matrices"}),
		Action: func(c *cli.Context) error {
			runs, err := everyRun(c, s)
			if err != nil {
				return err
			}
			if !c.Bool("all") {
				runs = together(runs)
			}
			slices.SortStableFunc(runs, func(a, b clusterrun.Status) int { return b.Started.Compare(a.Started) })
			return show(c, s.Out, runs, func(w io.Writer) error { return listTable(w, screenOf(c, s.Out), runs) })
		},
	}
}

// everyRun are the runs of this machine and of the cluster.
func everyRun(c *cli.Context, s Streams) ([]clusterrun.Status, error) {
	if c.Bool("local") && c.Bool("cluster") {
		return nil, step.Usagef("reading flags of \"list\": --local and --cluster exclude each other")
	}
	runs := []clusterrun.Status{}
	if !clusterAsked(c) || c.Bool("local") {
		here, err := localRuns(c)
		if err != nil {
			return nil, err
		}
		runs = here
	}
	if c.Bool("local") || !clusterAsked(c) && !clusterKnown(c) {
		return runs, nil
	}
	there, err := clusterRuns(c)
	if err != nil && !clusterAsked(c) {
		fmt.Fprintf(s.Err, "warning: only runs of this machine are listed: %v\n", err)
		err = nil
	}
	return append(runs, there...), err
}

func localRuns(c *cli.Context) ([]clusterrun.Status, error) {
	root, err := runsDir(c)
	if err != nil {
		return nil, err
	}
	here, err := local.List(root)
	if err != nil {
		return nil, err
	}
	runs := statuses(append(here, importedRuns(root)...))
	for i := range runs {
		describe(&runs[i])
	}
	return runs, nil
}

func statuses(runs []local.Status) []clusterrun.Status {
	out := make([]clusterrun.Status, len(runs))
	for i, r := range runs {
		out[i] = clusterrun.Status{Status: r}
	}
	return out
}

// describe adds what a run of this machine is for and what it has found, as far as its folder tells.
func describe(s *clusterrun.Status) {
	var plan *runplan.RunPlan
	if r, err := report.Read(s.RunDir); err == nil {
		plan, s.TTFT = r.Plan, ttftOf(r)
	}
	if plan == nil {
		plan, _ = runplan.Read(s.RunDir) // one that cannot be read tells nothing
	}
	if plan != nil {
		s.Experiment, s.Model, s.Load, s.PlanHash = plan.Experiment, plan.Deployment.Model.Name, plan.Load(), plan.Hash
	}
}

// ttftOf is the median TTFT of the headline stage in ms, nil without one.
func ttftOf(r *report.Report) *float64 {
	if stage := report.Headline(r); stage != nil {
		if m := stage.Metrics["ttft"]; m.Has("p50") {
			value := m.Quantiles["p50"]
			return &value
		}
	}
	return nil
}

// clusterRuns lists all namespaces where that is allowed, else those that a run would be looked for in.
func clusterRuns(c *cli.Context) ([]clusterrun.Status, error) {
	cluster, namespaces, err := connect(c)
	if err != nil {
		return nil, err
	}
	var found []clusterrun.Run
	var matrices []clusterrun.Matrix
	var denied error
	for _, namespace := range namespaces {
		runs, err := listed(c, cluster, namespace, &matrices)
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		denied = errors.Join(denied, err)
		if err == nil {
			found, denied = append(found, runs...), nil
			if namespace == "" {
				break
			}
		}
	}
	briefs := cluster.BriefsOf(c.Context, found)
	var out []clusterrun.Status
	for _, r := range found {
		status := clusterrun.StatusOf(&r, nil)
		status.Cluster = cluster.Name
		if b := briefs[r.Namespace+"/"+r.ID]; b != nil {
			status.TTFT = ttftOf(b.Report())
		}
		out = append(out, status)
	}
	for _, m := range matrices {
		status, err := matrixRow(&m)
		if err != nil {
			return nil, err
		}
		status.Cluster = cluster.Name
		out = append(out, status)
	}
	return out, denied
}

func listTable(w io.Writer, on screen.Screen, runs []clusterrun.Status) error {
	t := screen.Table{Gap: 2, Columns: []screen.Column{{Head: "RUN"}, {Head: "NAMESPACE", Rank: 4}, {Head: "STATE", Paint: true},
		{Head: "VERDICT", Paint: true}, {Head: "MODEL", Cut: screen.Middle, Rank: 1}, {Head: "LOAD", Cut: screen.End, Rank: 1},
		{Head: "TTFT p50", Right: true, Rank: 1}, {Head: "STARTED", Rank: 2}, {Head: "TIME", Rank: 3}, {Head: "MESSAGE", Cut: screen.End, Rank: 5}}}
	for _, r := range runs {
		ttft := ""
		if r.TTFT != nil {
			ttft = fmt.Sprintf("%.1f ms", *r.TTFT)
		}
		message := progress.Reason(r.Message)
		if r.Attempt > 1 {
			message = fmt.Sprintf("attempt %d: %s", r.Attempt, message)
		}
		t.Row(r.RunID, cmp.Or(r.Namespace, "(here)"), string(r.State), r.Verdict(), r.Model, r.Load, ttft,
			r.Started.Local().Format("2006-01-02 15:04"), took(r.Started, r.Finished, r.Alive), message)
	}
	if !slices.ContainsFunc(runs, func(r clusterrun.Status) bool { return r.Namespace != "" }) {
		t.Without("NAMESPACE")
	}
	_, err := t.Write(w, on)
	return err
}

// took is how long something ran, or has run.
func took(started, finished time.Time, alive bool) string {
	switch {
	case started.IsZero():
		return "-"
	case !finished.IsZero():
		return finished.Sub(started).Round(100 * time.Millisecond).String()
	case alive:
		return time.Since(started).Round(time.Second).String()
	default:
		return "-"
	}
}
