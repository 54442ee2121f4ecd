// Package export writes a run in formats that other tools read: one file per format. It reads the report, and the rows
// where a format needs them; it computes no result.
package export

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"bflow.dev/bflow/tasks/report"
)

// Run is what is exported: a run directory and its report.
type Run struct {
	Dir    string
	Report *report.Report
}

// Exporter writes a run in one format.
type Exporter interface {
	Export(w io.Writer, run Run) error
}

// exporter makes a function an Exporter.
type exporter func(w io.Writer, run Run) error

func (e exporter) Export(w io.Writer, run Run) error { return e(w, run) }

func all() map[string]Exporter {
	return map[string]Exporter{
		"report-v0.2":      exporter(reportYAML),
		"report-v0.2-json": exporter(reportJSON),
		"csv":              exporter(summaryCSV),
		"rows-csv":         exporter(rowsCSV),
		"junit":            exporter(junit),
		"markdown":         exporter(markdown),
		"annotations":      exporter(annotations),
		"prometheus":       exporter(prometheus),
		"benchstat":        exporter(benchstat),
	}
}

// Formats returns the names of all formats, sorted.
func Formats() []string { return slices.Sorted(maps.Keys(all())) }

// New returns the exporter of a format.
func New(format string) (Exporter, error) {
	e := all()[format]
	if e == nil {
		return nil, fmt.Errorf("choosing a format: %q is none of %s", format, strings.Join(Formats(), ", "))
	}
	return e, nil
}

// eachStage calls f for every pooled, measured stage.
func eachStage(r *report.Report, f func(m *report.Measurement, s *report.Stage) error) error {
	for i := range r.Measurements {
		m := &r.Measurements[i]
		for j := range m.Pooled.Stages {
			if s := &m.Pooled.Stages[j]; s.Planned.Measure {
				if err := f(m, s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
