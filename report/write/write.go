// Package write writes the files derived from a report to the directory of its run. It must not compute their
// contents.
package write

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/page"
	"bflow.dev/bflow/report/summary"
	"bflow.dev/bflow/report/v02"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/verdict"
)

// All writes every file that is made from the report into the run directory, each whole or not at all, and at last the
// checksums of the run, which end with the error of ctx once that is done. known are files of which the caller knows
// the sums. Doing it twice changes nothing.
func All(ctx context.Context, runDir string, r *report.Report, known ...checksums.File) error {
	if err := checksums.Retract(runDir); err != nil {
		return err
	}
	if err := writeStageReports(runDir, r); err != nil {
		return err
	}
	files := []struct {
		name  string
		write func(w io.Writer) error
	}{
		{contract.FileSummary, func(w io.Writer) error { return summary.Write(w, r) }},
		{contract.FileReportHTML, func(w io.Writer) error { return page.Write(w, r) }},
		{contract.FileVerdict, func(w io.Writer) error { return writeJSON(w, r.Verdict) }},
		{contract.FileReport, func(w io.Writer) error { return writeJSON(w, r) }},
	}
	for _, f := range files {
		if err := writeFile(filepath.Join(runDir, f.name), f.write); err != nil {
			return err
		}
	}
	return checksums.Write(ctx, runDir, known...)
}

func writeFile(path string, write func(w io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return fmt.Errorf("making %q: %w", filepath.Base(path), err)
	}
	return durable.WriteFile(path, b.Bytes())
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(v)
}

// writeStageReports writes one benchmark report v0.2 per measured stage that ran, and that of the headline stage once
// more under the name that other tools look for. A run without such a stage has that one file, without results.
func writeStageReports(runDir string, r *report.Report) error {
	headline := report.Headline(r)
	if headline == nil || verdict.Skipped(headline) {
		return writeDocument(r, filepath.Join(runDir, contract.FileReportV02), v02.Empty(r))
	}
	for i := range r.Measurements {
		m := &r.Measurements[i]
		for j := range m.Pooled.Stages {
			s := &m.Pooled.Stages[j]
			if !s.Planned.Measure || verdict.Skipped(s) {
				continue
			}
			if err := writeStage(runDir, r, m, s, s == headline); err != nil {
				return fmt.Errorf("converting stage %q: %w", s.Planned.Name, err)
			}
		}
	}
	return nil
}

func writeStage(runDir string, r *report.Report, m *report.Measurement, s *report.Stage, headline bool) error {
	doc, err := v02.Convert(r, m, s)
	if err != nil {
		return err
	}
	// The comma is in the name that llm-d-benchmark gives these files.
	name := fmt.Sprintf("benchmark_report_v0.2,_stage_%d.yaml", s.Stage)
	if err := writeDocument(r, filepath.Join(report.MeasurementDir(runDir, m.Index), name), doc); err != nil || !headline {
		return err
	}
	return writeDocument(r, filepath.Join(runDir, contract.FileReportV02), doc)
}

func writeDocument(r *report.Report, path string, doc any) error {
	return writeFile(path, func(w io.Writer) error {
		return v02.WriteYAML(w, doc, fmt.Sprintf("Written by bflow %s for run %s.", r.Run.BflowVersion, r.Run.ID))
	})
}
