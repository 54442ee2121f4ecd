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
	Choices
}

// Choices are what a person asked of the files, in formats that have a place for it.
type Choices struct {
	Rows        int       // how many requests of each status a benchmark shows; 0 = all
	Extras      Free      // values of the person's own in each result
	Latencies   []string  // which latencies a result holds, by the tool's names; nil = all
	Percentiles []float64 // which percentiles, in [0, 100]; nil = the tool's
	Lines       bool      // a result is a line, also where there is one alone
	// Note, where it is set, is told in a sentence what a file does not hold.
	Note func(sentence string)
}

// File is one file of an export. Name is relative to the folder of the export, with slashes. Write ends with the error
// of ctx once that is done.
type File struct {
	Name     string
	ToolName string // the name that the tool itself gives the file, where that holds what was measured; "" = Name
	Stem     string // of Name, which the tool puts a prefix in the place of; "" = it puts it before the name
	Rows     bool   // it lists requests one by one
	Write    func(ctx context.Context, w io.Writer) error
}

// Format writes runs in one format. It returns the files of the run without writing any; a format that is one file
// returns one. A run that has nothing for the format is an error.
type Format func(ctx context.Context, run Run) ([]File, error)
