package app

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"bflow.dev/bflow/cmd/bflow/clusterrun"
	"bflow.dev/bflow/cmd/bflow/progress"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/tasks/step"
)

func listCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:        "list",
		Usage:       "list runs, newest first",
		Description: "Runs of this machine and, where a kubeconfig is set, of the cluster. Naming the cluster by a flag lists only its runs.",
		Flags:       worldFlags(outputFlag(), &cli.BoolFlag{Name: "all", Usage: "also the runs of matrices"}),
		Action: func(c *cli.Context) error {
			runs, err := everyRun(c, s)
			if err != nil {
				return err
			}
			slices.SortStableFunc(runs, func(a, b clusterrun.Status) int { return b.Started.Compare(a.Started) })
			return show(c, s.Out, runs, func(w io.Writer) error { return listTable(w, runs) })
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
	runs := []clusterrun.Status{}
	for _, r := range append(here, importedRuns(root)...) {
		runs = append(runs, clusterrun.Status{Status: r})
	}
	return runs, nil
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
	var out []clusterrun.Status
	for _, r := range found {
		status := clusterrun.StatusOf(&r, nil)
		status.Cluster = cluster.Name
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

func listTable(w io.Writer, runs []clusterrun.Status) error {
	where := slices.ContainsFunc(runs, func(r clusterrun.Status) bool { return r.Namespace != "" })
	head := "RUN\tSTATE\tVERDICT\tATTEMPT\tSTARTED\tTIME\tMESSAGE"
	if where {
		head = "RUN\tNAMESPACE\tSTATE\tVERDICT\tATTEMPT\tSTARTED\tTIME\tMESSAGE"
	}
	fmt.Fprintln(w, head)
	for _, r := range runs {
		place := ""
		if where {
			place = r.Namespace + "\t"
			if r.Namespace == "" {
				place = "(here)\t"
			}
		}
		fmt.Fprintf(w, "%s\t%s%s\t%s\t%d\t%s\t%s\t%s\n", r.RunID, place, r.State, r.Verdict(), r.Attempt,
			r.Started.Local().Format("2006-01-02 15:04:05"), took(r.Started, r.Finished, r.Alive), clip(progress.Reason(r.Message)))
	}
	return nil
}

// clip keeps a line of the listing on one line of most screens; bflow status has the whole message.
func clip(s string) string {
	const widest = 80
	if r := []rune(s); len(r) > widest {
		return string(r[:widest-3]) + "..."
	}
	return s
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
