package tools

import (
	"context"
	"io"

	"bflow.dev/bflow/report"
)

// ExportedBy is the mark that every export carries where its format has a place for it.
const ExportedBy = "bflow"

// Run is what is exported: a run directory and its report.
type Run struct {
	Dir    string
	Report *report.Report
	// Shape, where it is set, changes the result of a stage before it is written, in formats that hold one object for
	// each: those of GuideLLM and vllm bench.
	Shape func(result map[string]any, s *Stage)
	Lines bool // a result of vllm bench is a line, also where there is one alone
}

// Shaped returns the result of a stage as it is to be written.
func (r Run) Shaped(result map[string]any, s *Stage) map[string]any {
	if r.Shape != nil {
		r.Shape(result, s)
	}
	return result
}

// File is one file of an export. Name is relative to the folder of the export, with slashes. Write ends with the error
// of ctx once that is done.
type File struct {
	Name  string
	Write func(ctx context.Context, w io.Writer) error
}

// Format writes runs in one format. It returns the files of the run without writing any; a format that is one file
// returns one. A run that has nothing for the format is an error.
type Format func(ctx context.Context, run Run) ([]File, error)
