package imports_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/export"
	"bflow.dev/bflow/report/reporttest"
)

// native is a run of ours, with failures.
func native(t *testing.T) export.Run {
	t.Helper()
	dir := reporttest.Write(t, reporttest.Run{Rates: []float64{20, 40}, Failing: .1, Length: 4 * time.Second})
	r, err := assemble.Report(dir)
	check(t, err)
	return export.Run{Dir: dir, Report: r}
}

// exported writes a run in a format and returns the folder.
func exported(t testing.TB, run export.Run, format string) string {
	t.Helper()
	e, err := export.New(format)
	check(t, err)
	files, err := e.Files(t.Context(), run)
	check(t, err)
	dir := t.TempDir()
	for _, f := range files {
		var b bytes.Buffer
		check(t, f.Write(t.Context(), &b))
		path := filepath.Join(dir, f.Name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, b.Bytes(), 0o644))
	}
	return dir
}

func TestNumbersComeBackFromEveryFormat(t *testing.T) {
	run := native(t)
	for _, tt := range []struct {
		format  string
		metrics []string // that the format can carry
		rates   []string
		within  float64 // relative: times in s as float64 hold a quarter of a us
	}{
		{"guidellm", []string{"ttft", "ttfc", "ttft_intended", "e2e", "e2e_intended", "e2e_last_token", "tpot",
			"tpot_incl", "ntpot", "tokens_in", "tokens_out"},
			[]string{"request_rate", "output_token_rate", "input_token_rate"}, 1e-4},
		{"guidellm-0.3.1", []string{"ttft", "e2e", "tpot", "tpot_incl", "tokens_in", "tokens_out"},
			[]string{"request_rate", "output_token_rate"}, 1e-4},
		{"inference-perf", []string{"ttfc", "e2e", "tpot", "ntpot", "tokens_in", "tokens_out"}, nil, 1e-4},
		{"aiperf", []string{"ttft", "ttfc", "tpot", "e2e_last_token", "ttft_intended", "tokens_in", "tokens_out"}, nil, 1e-6},
		{"vllm-bench", []string{"ttft", "tpot", "itl"}, nil, 1e-9},
		{"vllm-bench-detailed", []string{"ttft", "tpot", "itl", "tokens_in", "tokens_out"}, nil, 1e-6},
	} {
		t.Run(tt.format, func(t *testing.T) {
			_, back := imported(t, exported(t, run, tt.format))
			got := back.Measurements[0].Pooled.Stages
			if len(got) != 2 {
				t.Fatalf("%d stages came back", len(got))
			}
			for i := range got {
				compare(t, &run.Report.Measurements[0].Pooled.Stages[i+1], &got[i], tt.metrics, tt.rates, tt.within)
			}
		})
	}
}

func compare(t *testing.T, want, got *report.Stage, metrics, rates []string, within float64) {
	t.Helper()
	ok, bad := want.Counts.ByStatus[report.StatusOK], want.Counts.ByStatus[report.StatusFailed]
	if got.Counts.ByStatus[report.StatusOK] != ok || got.Counts.ByStatus[report.StatusFailed] != bad {
		t.Errorf("counts %v, want %v", got.Counts, want.Counts)
	}
	if load := max(got.Rate, got.Planned.Rate); load != want.Planned.Rate {
		t.Errorf("rate %v, want %v", load, want.Planned.Rate)
	}
	for _, name := range metrics {
		a, has := want.Metrics[name]
		if !has { // the synthetic run does not summarise it
			continue
		}
		b, found := got.Metrics[name]
		if !found {
			t.Errorf("%s did not come back", name)
			continue
		}
		if b.N != a.N {
			t.Errorf("%s has n %d, want %d", name, b.N, a.N)
		}
		close(t, name+" mean", b.Mean, a.Mean, within)
		for q, v := range b.Quantiles {
			close(t, name+" "+q, v, a.Quantiles[q], within)
		}
	}
	for _, name := range rates {
		close(t, name, got.Rates[name], want.Rates[name], within)
	}
}

func close(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within*math.Max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestRowsComeBack(t *testing.T) {
	run := native(t)
	_, want, err := report.ReadRows(filepath.Join(report.MeasurementDir(run.Dir, 0), "requests.jsonl.gz"))
	check(t, err)
	for _, format := range []string{"guidellm", "guidellm-0.3.1", "aiperf", "inference-perf"} {
		t.Run(format, func(t *testing.T) {
			dir, back := imported(t, exported(t, run, format))
			rows, offset, n := rowsOf(t, dir), int64(0), 0
			for _, w := range want {
				if w.Phase != report.PhaseMeasured {
					continue
				}
				g, found := rows[w.ID]
				if !found {
					t.Fatalf("row %q did not come back", w.ID)
				}
				if n++; n == 1 {
					offset = *g.TSend - *w.TSend
				}
				sameStamp(t, "send", w.TSend, g.TSend, offset)
				sameStamp(t, "first", w.TFirst, g.TFirst, offset)
				sameStamp(t, "last", w.TLast, g.TLast, offset)
				if (w.Status == report.StatusOK) != (g.Status == report.StatusOK) ||
					w.Status == report.StatusOK && *w.TokensOut != *g.TokensOut {
					t.Errorf("row %q: status %s, tokens %v", w.ID, g.Status, g.TokensOut)
				}
				if w.ErrorClass != g.ErrorClass {
					t.Errorf("row %q: class %q, want %q", w.ID, g.ErrorClass, w.ErrorClass)
				}
			}
			if n == 0 || back.Measurements[0].Tool == "" {
				t.Error("no rows were compared")
			}
		})
	}
}

func sameStamp(t *testing.T, what string, want, got *int64, offset int64) {
	t.Helper()
	if (want == nil) != (got == nil) || want != nil && max(*got-*want-offset, *want+offset-*got) > 1000 {
		t.Errorf("%s came back as %v, want %v", what, got, want)
	}
}
