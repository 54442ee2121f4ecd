package export_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/export"
	"bflow.dev/bflow/report/reporttest"
	"bflow.dev/bflow/runplan/contract"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestEveryFormatIsWrittenAsItsGoldenFiles is of two stages of two samples with requests of every end and with gaps.
func TestEveryFormatIsWrittenAsItsGoldenFiles(t *testing.T) {
	dir := reporttest.Write(t, reporttest.Run{Rates: []float64{4, 2}, Length: 1e9, Samples: 2, Failing: .1})
	everyEnd(t, filepath.Join(report.MeasurementDir(dir, 0), contract.FileRequests))
	r, err := assemble.Report(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range export.Formats() {
		e, err := export.New(format)
		if err != nil {
			t.Fatal(err)
		}
		files, err := e.Files(t.Context(), export.Run{Dir: dir, Report: r})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			var got bytes.Buffer
			if err := f.Write(t.Context(), &got); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "golden", format, filepath.FromSlash(f.Name)), got.Bytes())
		}
	}
}

// everyEnd rewrites the rows of a run so that some were cut, cancelled, dropped or have a text of an error, and others
// gaps.
func everyEnd(t *testing.T, path string) {
	t.Helper()
	head, rows, err := report.ReadRows(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := report.CreateRows(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		r := &rows[i]
		switch i % 7 {
		case 1:
			r.Gaps = []int32{20_000, 31_500, 0}
		case 2:
			r.Status, r.TEnd, r.TLast = report.StatusCut, nil, nil
		case 3:
			r.Status, r.ErrorClass = report.StatusTimeout, report.ErrStall
			r.Error, r.TokensIn = "=no byte for \"5s\" <é>", nil
		case 4:
			*r = report.Row{
				ID: r.ID, Stage: r.Stage, Sample: r.Sample, Phase: r.Phase, TIntended: r.TIntended,
				Status: report.StatusDropped,
			}
		case 5:
			r.Status, r.ErrorClass = report.StatusCancelled, report.ErrCancelled
		}
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(head); err != nil {
		t.Fatal(err)
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
