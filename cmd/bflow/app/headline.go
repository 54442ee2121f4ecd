package app

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"bflow.dev/bflow/cmd/bflow/localrun"
	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/report"
)

// headline prints the table of runs and where their reports are. A run that came to no report has been explained.
func headline(s Streams, outcomes []localrun.Outcome) error {
	var reports []*report.Report
	var dirs []string
	for _, out := range outcomes {
		r, err := report.Read(out.RunDir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		reports, dirs = append(reports, r), append(dirs, out.RunDir)
	}
	if len(reports) == 0 {
		return nil
	}
	if err := report.Table(s.Out, reports...); err != nil {
		return err
	}
	for _, dir := range dirs {
		fmt.Fprintf(s.Out, "report: %s\n", filepath.Join(dir, contract.FileReportHTML))
	}
	return nil
}
