package app

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/page"
	"bflow.dev/bflow/report/write"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

func reportCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "rebuild the report of a run, or compare several runs on one page",
		ArgsUsage: "RUN...",
		Description: "For one run, rebuilds every file of its report from its measurements. For several, writes a page that compares them (--out). " +
			"Fetches the results of a cluster run first, if they are not on this machine yet.",
		Flags: worldFlags(outputFlag(), plainFlag(), &cli.StringFlag{Name: "out", Usage: "file for the page that compares several runs (default: bflow-report.html)"}),
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return step.Usagef("reading arguments of \"report\": want at least one run")
			}
			if p, ok := matrixArg(c); ok {
				return reportMatrix(c, s, p)
			}
			names, out, err := reported(c, s)
			if err != nil {
				return err
			}
			reports, last, err := rebuild(c, s, names)
			if err != nil {
				return err
			}
			path := filepath.Join(last, contract.FileReportHTML)
			if len(reports) > 1 || out != "" {
				if path, err = matrixPage(out, reports); err != nil {
					return err
				}
			}
			return show(c, s.Out, reports, func(w io.Writer) error {
				if err := report.Table(w, screenOf(c, s.Out), reports...); err != nil {
					return err
				}
				_, err := fmt.Fprintf(w, "report: %s\n", path)
				return err
			})
		},
	}
}

// reported are the runs that the arguments name, those of a matrix of this machine for its name, and the file for the
// page over them.
func reported(c *cli.Context, s Streams) (names []string, out string, err error) {
	names, out = c.Args().Slice(), c.String("out")
	if len(names) > 1 || c.Bool("cluster") {
		return names, out, nil
	}
	if _, err := runDir(c, names[0]); err == nil {
		return names, out, nil
	}
	m, err := findPoints(c, names[0])
	if err != nil || m == nil {
		return names, out, err
	}
	if out == "" {
		out, err = m.page(c)
	}
	names = m.reported()
	switch n := len(m.runs); {
	case len(names) == 0:
		return nil, "", fmt.Errorf("reporting matrix %s: none of its %d runs has a report; see why with bflow status %s", m.name, n, m.name)
	case len(names) < n:
		fmt.Fprintf(s.Err, "it shows %d of %d points; the others have no report\n", len(names), n)
	}
	return names, out, err
}

// rebuild makes the files of every named run anew and returns the reports and the last run's directory.
func rebuild(c *cli.Context, s Streams, names []string) ([]*report.Report, string, error) {
	var reports []*report.Report
	var dir string
	for _, name := range names {
		var err error
		if dir, err = resultsDir(c, s, name); err != nil {
			return nil, "", err
		}
		if err := checksums.Verify(dir, func(path string) bool { return !checksums.Made(path) }); err != nil {
			return nil, "", err
		}
		r, err := assemble.Report(dir)
		if err != nil {
			return nil, "", err
		}
		if err := write.All(dir, r); err != nil {
			return nil, "", err
		}
		reports = append(reports, r)
	}
	return reports, dir, nil
}

// matrixPage writes one page over several runs and returns its path.
func matrixPage(path string, reports []*report.Report) (string, error) {
	if path == "" {
		path = "bflow-report.html"
	}
	var html bytes.Buffer
	if err := page.Matrix(&html, reports...); err != nil {
		return "", err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("naming the page: %w", err)
	}
	return path, durable.WriteFile(path, html.Bytes())
}
