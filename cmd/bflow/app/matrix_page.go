package app

import (
	"bytes"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/brief"
	"bflow.dev/bflow/report/page"
	"bflow.dev/bflow/runplan/contract"
	clusterrun "bflow.dev/bflow/runs/cluster"
)

// reportsOf are the reports of points, as far as their summaries go, in the order of the points.
func reportsOf(briefs []*brief.Brief) []*report.Report {
	var out []*report.Report
	for _, b := range briefs {
		if b != nil {
			out = append(out, b.Report())
		}
	}
	return out
}

// rowsShown bounds the table that a command prints at the end: the page has all.
const rowsShown = 50

func briefTable(w io.Writer, on screen.Screen, briefs []*brief.Brief) error {
	reports := reportsOf(briefs)
	if len(reports) == 0 {
		return nil
	}
	err := report.Table(w, on, reports[:min(rowsShown, len(reports))]...)
	if more := len(reports) - rowsShown; err == nil && more > 0 {
		_, err = fmt.Fprintf(w, "and %d more points; bflow report shows all of them\n", more)
	}
	return err
}

// pageOf is the page over all points that have ended so far, nil while there are none.
func pageOf(briefs []*brief.Brief) ([]byte, error) {
	reports := reportsOf(briefs)
	if len(reports) == 0 {
		return nil, nil
	}
	var html bytes.Buffer
	if err := page.Matrix(&html, reports...); err != nil {
		return nil, err
	}
	return html.Bytes(), nil
}

// reportMatrix writes the page of a matrix from the summaries of its runs, at any time.
func reportMatrix(c *cli.Context, s Streams, p place) error {
	briefs, err := p.cluster.Briefs(c.Context, p.matrix)
	if err != nil {
		return err
	}
	reports := reportsOf(briefs)
	if len(reports) == 0 {
		return fmt.Errorf("reporting matrix %s: none of its runs has a summary yet; see its progress with bflow status %s", p.matrix.Name(), p.matrix.Name())
	}
	path := c.String("out")
	if path == "" {
		path = p.matrix.Name() + ".html"
	}
	if path, err = matrixPage(path, reports); err != nil {
		return err
	}
	if n := len(briefs) - len(reports); n > 0 {
		fmt.Fprintf(s.Err, "it shows %d of %d points; the others have not ended, or have no summary\n", len(reports), len(briefs))
	}
	return show(c, s.Out, reports, func(w io.Writer) error {
		if err := briefTable(w, screenOf(c, s.Out), briefs); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, "report: %s\n", path)
		return err
	})
}

// matrixSummary is what the parent of a matrix leaves of it: the ConfigMap of its results holds it.
type matrixSummary struct {
	Schema     string            `json:"schema"`
	Matrix     string            `json:"matrix"`
	Experiment string            `json:"experiment"`
	Points     int               `json:"points"`
	Counts     state.Counts      `json:"counts"`
	Verdict    string            `json:"verdict"`
	ExitCode   int               `json:"exit_code"`
	Notes      []string          `json:"notes,omitempty"`
	Links      map[string]string `json:"links,omitempty"`
}

// summarySchema names the format.
const summarySchema = "bflow.matrix-summary/1"

func summaryOf(m *clusterrun.Matrix, briefs []*brief.Brief) (*matrixSummary, error) {
	status, err := m.Status()
	if err != nil {
		return nil, err
	}
	code, err := m.Exit(briefs)
	if err != nil {
		return nil, err
	}
	return &matrixSummary{Schema: summarySchema, Matrix: m.Name(), Experiment: m.Parent.Annotations[contract.AnnotationName], Points: status.Points,
		Counts: status.Counts, Verdict: status.Counts.Verdict(), ExitCode: code, Notes: status.Notes}, nil
}
