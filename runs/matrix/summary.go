package matrix

import (
	"bytes"

	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/report/brief"
	"bflow.dev/bflow/report/page"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/cluster"
)

// pageOf is the page over all points that have ended so far, nil while there are none.
func pageOf(briefs []*brief.Brief) ([]byte, error) {
	reports := cluster.ReportsOf(briefs)
	if len(reports) == 0 {
		return nil, nil
	}
	var html bytes.Buffer
	if err := page.Matrix(&html, reports...); err != nil {
		return nil, err
	}
	return html.Bytes(), nil
}

// summary is what the parent of a matrix leaves of it: the ConfigMap of its results holds it.
type summary struct {
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

func summaryOf(m *cluster.Matrix, briefs []*brief.Brief) (*summary, error) {
	status, err := m.Status()
	if err != nil {
		return nil, err
	}
	code, err := m.Exit(briefs)
	if err != nil {
		return nil, err
	}
	return &summary{Schema: summarySchema, Matrix: m.Name(), Experiment: m.Parent.Annotations[contract.AnnotationName],
		Points: status.Points,
		Counts: status.Counts, Verdict: status.Counts.Verdict(), ExitCode: code, Notes: status.Notes}, nil
}
