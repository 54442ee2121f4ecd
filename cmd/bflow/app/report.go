package app

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/tasks/step"
)

func reportCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "rebuild the report of a run, or compare several runs on one page",
		ArgsUsage: "RUN...",
		Description: "For one run, rebuilds every file of its report from its measurements. For several, writes a page " +
			"that compares them (--out). " +
			"Fetches the results of a cluster run first, if they are not on this machine yet.",
		Flags: findFlags(outputFlag(), plainFlag(), &cli.StringFlag{Name: "out",
			Usage: "file for the page that compares several runs (default: bflow-report.html)"}),
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return step.Usagef("reading arguments of \"report\": want at least one run")
			}
			results, err := resultsOf(c, s)
			if err != nil {
				return exit(c, 0, err)
			}
			reports, table := results.Reports, runs.SummaryTable
			if len(reports) == 0 {
				if reports, err = runs.Rebuild(c.Context, results.Dirs); err != nil {
					return err
				}
				table = func(w io.Writer, on screen.Screen, reports []*report.Report) error {
					return report.Table(w, on, reports...)
				}
			}
			page := cmp.Or(c.String("out"), results.Page)
			if len(reports) > 1 || page != "" {
				page, err = runs.WritePage(page, reports)
			} else {
				page = filepath.Join(results.Dirs[0], contract.FileReportHTML)
			}
			if err != nil {
				return err
			}
			if results.Note != "" {
				fmt.Fprintln(s.Err, results.Note)
			}
			return show(c, s.Out, reports, func(w io.Writer) error {
				if err := table(w, screenOf(c, s.Out), reports); err != nil {
					return err
				}
				_, err := fmt.Fprintf(w, "report: %s\n", page)
				return err
			})
		},
	}
}

// resultsOf are those of the runs that the arguments name, or of all runs of the one matrix.
func resultsOf(c *cli.Context, s Streams) (all runs.Results, err error) {
	where, err := whereOf(c)
	if err != nil {
		return all, err
	}
	kinds, on := kindsOf(c, s), console(c, s)
	if name := c.Args().First(); c.NArg() == 1 {
		if run, err := kinds.Find(c.Context, name, where); err == nil && runs.Single(run) != nil {
			return run.Results(c.Context, on)
		}
	}
	for _, name := range c.Args().Slice() {
		dir, err := kinds.Results(c.Context, on, name, where)
		if err != nil {
			return all, err
		}
		all.Dirs = append(all.Dirs, dir)
	}
	return all, nil
}
