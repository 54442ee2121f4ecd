package app

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
	localrun "bflow.dev/bflow/runs/local"
	"bflow.dev/bflow/verdict"
)

// headline prints the table of runs and where their reports are, and returns the page of the last line, "" without one;
// several runs get a page of their own, at over. A run that came to no report has been explained.
func headline(c *cli.Context, s Streams, over string, outcomes []localrun.Outcome) (string, error) {
	var reports []*report.Report
	var dirs []string
	for _, out := range outcomes {
		r, err := report.Read(out.RunDir)
		if errors.Is(err, fs.ErrNotExist) || err != nil && out.Err != nil {
			continue
		}
		if err != nil {
			return "", err
		}
		reports, dirs = append(reports, r), append(dirs, out.RunDir)
	}
	if len(reports) == 0 {
		return "", nil
	}
	if err := report.Table(s.Out, screenOf(c, s.Out), reports...); err != nil {
		return "", err
	}
	if text := verdict.Sustained(reports); text != "" {
		fmt.Fprintf(s.Out, "found: %s\n", text)
	}
	path := filepath.Join(dirs[0], contract.FileReportHTML)
	if len(reports) > 1 {
		var err error
		if path, err = matrixPage(over, reports); err != nil {
			return "", err
		}
		for _, dir := range dirs {
			fmt.Fprintf(s.Out, "run: %s\n", dir)
		}
	}
	_, err := fmt.Fprintf(s.Out, "report: %s\n", path)
	return path, err
}
