package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/page"
	"bflow.dev/bflow/report/write"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/verdict"
)

// Headline prints the table of runs and where their reports are, and returns the page of the last line, "" without one;
// several runs get a page of their own, at over. A run that came to no report has been explained.
func Headline(on Console, over string, outcomes []Outcome) (string, error) {
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
	if err := report.Table(on.Out, on.OutScreen, reports...); err != nil {
		return "", err
	}
	if text := verdict.Sustained(reports); text != "" {
		fmt.Fprintf(on.Out, "found: %s\n", text)
	}
	path := filepath.Join(dirs[0], contract.FileReportHTML)
	if len(reports) > 1 {
		var err error
		if path, err = WritePage(over, reports); err != nil {
			return "", err
		}
		for _, dir := range dirs {
			fmt.Fprintf(on.Out, "run: %s\n", dir)
		}
	}
	_, err := fmt.Fprintf(on.Out, "report: %s\n", path)
	return path, err
}

// defaultPage is the page over several runs where nobody names another.
const defaultPage = "bflow-report.html"

// WritePage writes one page over several runs and returns its absolute path.
func WritePage(path string, reports []*report.Report) (string, error) {
	if path == "" {
		path = defaultPage
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

// rowsShown bounds a table over the summaries of many runs: the page has all.
const rowsShown = 50

// SummaryTable is a table over reports of which only summaries are known.
func SummaryTable(w io.Writer, on screen.Screen, reports []*report.Report) error {
	err := report.Table(w, on, reports[:min(rowsShown, len(reports))]...)
	if more := len(reports) - rowsShown; err == nil && more > 0 {
		_, err = fmt.Fprintf(w, "and %d more points; bflow report shows all of them\n", more)
	}
	return err
}

// Rebuild makes the files of the report of every run anew from what it has measured. A file that is not what it was
// when the run ended is an error.
func Rebuild(ctx context.Context, dirs []string) ([]*report.Report, error) {
	var reports []*report.Report
	for _, dir := range dirs {
		if err := checksums.Verify(dir, func(path string) bool { return !checksums.Made(path) }); err != nil {
			return nil, err
		}
		r, err := assemble.Report(dir)
		if err != nil {
			return nil, err
		}
		if err := write.All(ctx, dir, r); err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	return reports, nil
}
