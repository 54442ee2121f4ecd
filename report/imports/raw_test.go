package imports_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/imports"
	"bflow.dev/bflow/report/write"
	"bflow.dev/bflow/results/checksums"
)

// raw is a file as JSON, from which tests take what they expect by themselves.
func raw(t *testing.T, path string) any {
	t.Helper()
	data, err := os.ReadFile(path)
	check(t, err)
	var v any
	check(t, json.Unmarshal(data, &v))
	return v
}

// at walks into JSON: text is a key, a number an index. Nothing there is nil.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func num(t *testing.T, v any, path ...any) float64 {
	t.Helper()
	f, ok := at(v, path...).(float64)
	if !ok {
		t.Fatalf("no number at %v", path)
	}
	return f
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// imported reads files into a run directory and makes its report, with every file of it.
func imported(t *testing.T, paths ...string) (string, *report.Report) {
	t.Helper()
	docs, err := imports.Open(t.Context(), paths, t.TempDir())
	check(t, err)
	in, err := imports.Read(t.Context(), docs, imports.Auto)
	check(t, err)
	dir := filepath.Join(t.TempDir(), "run")
	kept, err := imports.Write(t.Context(), dir, "run", in, docs)
	check(t, err)
	r, err := assemble.Report(dir)
	check(t, err)
	check(t, write.All(t.Context(), dir, r, kept...))
	check(t, checksums.Verify(dir, nil)) // reads what was summed as it was written
	return dir, r
}

func rowsOf(t *testing.T, dir string) map[string]report.Row {
	t.Helper()
	_, rows, err := report.ReadRows(filepath.Join(report.MeasurementDir(dir, 0), "requests.jsonl.gz"))
	check(t, err)
	out := map[string]report.Row{}
	for _, r := range rows {
		out[r.ID] = r
	}
	return out
}

func pooled(r *report.Report) *report.Stage { return &r.Measurements[0].Pooled.Stages[0] }

// ms is the time between two stamps of a row.
func ms(from, to *int64) float64 {
	if from == nil || to == nil {
		return math.NaN()
	}
	return float64(*to-*from) / 1e6
}
