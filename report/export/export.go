// Package export writes a run in the formats of other tools, one Go file per format. It reads the report, and the
// rows if a format needs them; it computes no results.
package export

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/load/tool/registry"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/report/tools/opensearch"
)

// Run is what is exported: a run directory and its report.
type Run = tools.Run

// File is one file of an export.
type File = tools.File

// Exporter writes a run in one format.
type Exporter interface {
	// Export writes the one file of the format; a format of several files is an error that says so.
	Export(ctx context.Context, w io.Writer, run Run) error
	// Files returns the files of the run, named relative to the folder of the export.
	Files(ctx context.Context, run Run) ([]File, error)
}

// text is a format of one file.
type text struct {
	name  string
	write func(ctx context.Context, w io.Writer, run Run) error
}

func (t text) Export(ctx context.Context, w io.Writer, run Run) error { return t.write(ctx, w, run) }

func (t text) Files(_ context.Context, run Run) ([]File, error) {
	return []File{{Name: t.name, Write: func(ctx context.Context, w io.Writer) error { return t.write(ctx, w, run) }}}, nil
}

// summarized is a format that is made of the report alone: small, whatever was measured.
func summarized(write func(w io.Writer, run Run) error) func(context.Context, io.Writer, Run) error {
	return func(_ context.Context, w io.Writer, run Run) error { return write(w, run) }
}

// ofTool is the format of another tool.
type ofTool struct {
	name   string
	format tools.Format
}

func (o ofTool) Files(ctx context.Context, run Run) ([]File, error) { return o.format(ctx, run) }

func (o ofTool) Export(ctx context.Context, w io.Writer, run Run) error {
	files, err := o.format(ctx, run)
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return fmt.Errorf("exporting as %s: it is %d files, name a folder with --out", o.name, len(files))
	}
	return files[0].Write(ctx, w)
}

func all() map[string]Exporter {
	formats := map[string]Exporter{
		"report-v0.2":      text{"benchmark_report_v0.2.yaml", summarized(reportYAML)},
		"report-v0.2-json": text{"benchmark_report_v0.2.json", summarized(reportJSON)},
		"csv":              text{"summary.csv", summarized(summaryCSV)},
		"rows-csv":         text{"requests.csv", rowsCSV},
		"junit":            text{"junit.xml", summarized(junit)},
		"markdown":         text{"summary.md", summarized(markdown)},
		"annotations":      text{"annotations.txt", summarized(annotations)},
		"prometheus":       text{"metrics.prom", summarized(prometheus)},
		"benchstat":        text{"benchstat.txt", summarized(benchstat)},
	}
	for name, format := range ofTools() {
		formats[name] = ofTool{name, format}
	}
	return formats
}

// ofTools are the formats of other tools.
func ofTools() map[string]tools.Format {
	formats := map[string]tools.Format{
		"opensearch":          opensearch.Write,
		"opensearch-bulk":     opensearch.WriteBulk,
		"opensearch-template": opensearch.WriteTemplate,
	}
	for _, t := range registry.All() {
		maps.Copy(formats, t.Results().Formats)
	}
	return formats
}

// Formats returns the names of all formats, sorted.
func Formats() []string { return slices.Sorted(maps.Keys(all())) }

// New returns the exporter of a format.
func New(format string) (Exporter, error) {
	e := all()[format]
	if e == nil {
		if near := problem.Closest(format, Formats(), 1); len(near) > 0 {
			return nil, fmt.Errorf("choosing a format: unknown format %q (did you mean %q?)", format, near[0])
		}
		return nil, fmt.Errorf("choosing a format: unknown format %q; want one of %s",
			format, strings.Join(Formats(), ", "))
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
