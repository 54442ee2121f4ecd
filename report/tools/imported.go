package tools

import (
	"context"
	"fmt"
	"iter"
	"math"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// Reader reads files of one tool. An error names the file and the path into it; it never panics, whatever the bytes.
type Reader func(ctx context.Context, docs []Document) (*Imported, error)

// ImportedRow is a request of another tool. Gaps are all between its token events, in ms; nil where the file does not
// hold them.
type ImportedRow struct {
	report.Row
	GapsMS []float64
}

// ImportedRows yields requests, read anew from their file by every walk, in its order. A FormatError is one of the
// file.
type ImportedRows func(ctx context.Context) iter.Seq2[*ImportedRow, error]

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
	// from the totals of the file, never from the length of a list
	Counts report.Counts
	// those the file holds, nil for none; Stage is set by who writes them
	Rows ImportedRows
	// Whole says that Rows hold every request behind the latencies, so that these are computed from the rows.
	Whole   bool
	Metrics map[string]report.Metric // as the tool says, in native units
	Rates   map[string]float64
	Tokens  report.TokenSums
	Goodput *report.GoodputResult
	Checks  []report.Check
}

// NewStage returns a stage without numbers yet. ended says what ended it.
func NewStage(planned runplan.Stage, ended string) ImportedStage {
	return ImportedStage{Planned: planned, Ended: ended, Metrics: map[string]report.Metric{}, Rates: map[string]float64{}}
}

// CountsOf counts the requests of a stage by what became of them. Numbers that are not above 0 are left out.
func CountsOf(byStatus map[string]int) report.Counts {
	c := report.Counts{ByStatus: map[string]int{}}
	for status, n := range byStatus {
		if n > 0 {
			c.ByStatus[status] = n
			c.Total += n
		}
	}
	c.All = c.Total
	return c
}

// SetRates sets the rates that a file says, which are over the whole run: with no other window they are those of the
// window too.
func (s *ImportedStage) SetRates(said map[string]*float64) {
	for name, v := range said {
		if v != nil {
			s.Rates[name], s.Rates[name+"_run"] = *v, *v
		}
	}
	s.SetOfferedRate()
}

// SetOfferedRate sets the rate that was asked for.
func (s *ImportedStage) SetOfferedRate() {
	if s.Planned.Rate > 0 {
		s.Rates["offered_rate"] = s.Planned.Rate
	}
}

// Note adds a sentence, once.
func (in *Imported) Note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, have := range in.Notes {
		if have == text {
			return
		}
	}
	in.Notes = append(in.Notes, text)
}

// Span sets the times of a stage from unix seconds: first and last of it, and the measured part. What is no time is
// left out; the measured part is the whole stage where the file does not say it.
func (s *ImportedStage) Span(start, end, measureStart, measureEnd float64) {
	s.StartNS, _ = Seconds(start)
	s.EndNS, _ = Seconds(end)
	s.EndNS = max(s.EndNS, s.StartNS)
	s.DrainEndNS = s.EndNS
	s.WindowStart, s.WindowEnd = s.StartNS, s.EndNS
	from, ok := Seconds(measureStart)
	to, both := Seconds(measureEnd)
	if ok && both && from > 0 && to >= from {
		s.WindowStart, s.WindowEnd = from, to
	}
}

// SetGoodput makes a goodput of a share and the number of requests it is of; nothing where either is missing.
func (s *ImportedStage) SetGoodput(share *float64, of int) {
	if share == nil || of <= 0 || !(*share >= 0 && *share <= 1) {
		return
	}
	g := &report.GoodputResult{Good: int(math.Round(*share * float64(of))), Of: of, Attainment: *share}
	if w := float64(s.WindowEnd-s.WindowStart) / 1e9; w > 0 {
		g.RequestsPerS = float64(g.Good) / w
	}
	s.Goodput = g
}
