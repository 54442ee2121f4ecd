package imports_test

import (
	"path/filepath"
	"strconv"
	"testing"

	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/export"
	"bflow.dev/bflow/report/imports"
	"bflow.dev/bflow/report/reporttest"
)

// BenchmarkImport reads what is exported of a run, and writes the run of it. An operation is one request.
func BenchmarkImport(b *testing.B) {
	dir := reporttest.Write(b, reporttest.Run{Rates: []float64{10_000}, Length: 2e9, Failing: .01})
	r, err := assemble.Report(dir)
	if err != nil {
		b.Fatal(err)
	}
	requests := r.Measurements[0].Pooled.Stages[1].Counts.Total
	for _, format := range []string{"guidellm", "guidellm-0.3.1", "vllm-bench-detailed", "inference-perf", "aiperf"} {
		b.Run(format, func(b *testing.B) {
			from, to := exported(b, export.Run{Dir: dir, Report: r}, format), b.TempDir()
			b.ReportAllocs()
			for done := 0; done < b.N; done += requests {
				docs, err := imports.Open(b.Context(), []string{from}, to)
				if err != nil {
					b.Fatal(err)
				}
				in, err := imports.Read(b.Context(), docs, imports.Auto)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := imports.Write(b.Context(), filepath.Join(to, strconv.Itoa(done)), "x", in, docs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
