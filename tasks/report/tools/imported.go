package tools

import "bflow.dev/bflow/tasks/report"
import "bflow.dev/bflow/tasks/runplan"

// Document is a file to be read. Path names it in errors.
type Document struct {
	Path string
	Data []byte
}

// Reader reads files of one tool. An error names the file and the path into it; it never panics, whatever the bytes.
type Reader func(docs []Document) (*Imported, error)

// Imported is a run of another tool in native words. What the files do not say is left zero or nil.
type Imported struct {
	Tool, Version    string // of the tool, in the words of runplan.Measurement.Tool
	Endpoint, Model  string
	API              runplan.API
	Data             runplan.Data
	TokenCountSource string
	AnchorUnixNS     int64 // wall time of the zero of all t_* of the rows
	Notes            []string
	Stages           []ImportedStage
}

// ImportedStage is one load value. Times are unix ns.
type ImportedStage struct {
	Planned                                            runplan.Stage
	StartNS, EndNS, DrainEndNS, WindowStart, WindowEnd int64
	Ended                                              string
	Counts                                             report.Counts // from the totals of the file, never from the length of a list
	Rows                                               []report.Row  // those the file holds; Stage is set by who writes them
	// Whole says that Rows hold every request behind the latencies, so that these are computed from the rows.
	Whole   bool
	Metrics map[string]report.Metric // as the tool says, in native units
	Gaps    []float64                // every gap between token events in ms, where the file holds them
	Rates   map[string]float64
	Tokens  report.TokenSums
	Goodput *report.GoodputResult
	Checks  []report.Check
}
