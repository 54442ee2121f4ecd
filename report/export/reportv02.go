package export

import (
	"errors"
	"fmt"
	"io"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/v02"
)

func reportYAML(w io.Writer, run Run) error {
	doc, err := headlineDocument(run.Report)
	if err != nil {
		return err
	}
	return v02.WriteYAML(w, doc,
		fmt.Sprintf("Written by bflow %s for run %s.", run.Report.Run.BflowVersion, run.Report.Run.ID))
}

func reportJSON(w io.Writer, run Run) error {
	doc, err := headlineDocument(run.Report)
	if err != nil {
		return err
	}
	return v02.WriteJSON(w, doc)
}

// headlineDocument is the document of the headline stage: the format holds one stage.
func headlineDocument(r *report.Report) (*v02.Document, error) {
	headline := report.Headline(r)
	if headline == nil {
		return nil, errors.New("exporting a benchmark report: the run has no measured stage")
	}
	return v02.Convert(r, &r.Measurements[headline.Measurement], headline)
}
