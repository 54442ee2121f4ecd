package export_test

import (
	"io"
	"testing"

	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/export"
	"bflow.dev/bflow/report/reporttest"
)

// BenchmarkExport writes every request of a run. An operation is one request.
func BenchmarkExport(b *testing.B) {
	dir := reporttest.Write(b, reporttest.Run{Rates: []float64{10_000}, Length: 2e9, Failing: .01})
	r, err := assemble.Report(dir)
	if err != nil {
		b.Fatal(err)
	}
	run, requests := export.Run{Dir: dir, Report: r}, r.Measurements[0].Pooled.Stages[1].Counts.Total
	for _, format := range withRows() {
		e, err := export.New(format)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(format, func(b *testing.B) {
			b.ReportAllocs()
			for done := 0; done < b.N; done += requests {
				files, err := e.Files(b.Context(), run)
				if err != nil {
					b.Fatal(err)
				}
				for _, f := range files {
					if err := f.Write(b.Context(), io.Discard); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
