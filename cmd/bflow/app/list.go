package app

import (
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/runs"
)

func listCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "list runs, newest first",
		Description: "Lists runs of this machine and, if a kubeconfig is set, of the cluster. With --cluster, " +
			"--namespace, --kubeconfig or --context, lists only those of the cluster.",
		Flags: findFlags(outputFlag(), plainFlag(), &cli.BoolFlag{Name: "all",
			Usage: "also list the runs of matrices"}),
		Action: func(c *cli.Context) error {
			rows, err := everyRun(c, s)
			if err != nil {
				return err
			}
			slices.SortStableFunc(rows, func(a, b runs.Status) int { return b.Started.Compare(a.Started) })
			return show(c, s.Out, rows, func(w io.Writer) error { return runs.ListTable(w, screenOf(c, s.Out), rows) })
		},
	}
}

// everyRun are the runs of this machine and of the cluster.
func everyRun(c *cli.Context, s Streams) ([]runs.Status, error) {
	if _, err := whereOf(c); err != nil {
		return nil, err
	}
	kinds := kindsOf(c, s)
	rows := []runs.Status{}
	if !clusterAsked(c) || c.Bool("local") {
		here, err := runs.List(c.Context, kinds.Local, c.Bool("all"))
		if err != nil {
			return nil, err
		}
		rows = here
	}
	if c.Bool("local") || !clusterAsked(c) && !kinds.ClusterKnown {
		return rows, nil
	}
	there, err := runs.List(c.Context, kinds.Cluster, c.Bool("all"))
	if err != nil && !clusterAsked(c) {
		lack := "only runs of this machine are listed"
		if len(there) > 0 {
			lack = "some runs of the cluster are not listed"
		}
		fmt.Fprintf(s.Err, "warning: %s: %v\n", lack, err)
		err = nil
	}
	return append(rows, there...), err
}
