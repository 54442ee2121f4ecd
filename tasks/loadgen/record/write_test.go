package record

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// outputsIn are the files of a measurement in dir.
func outputsIn(t testing.TB, dir string) Outputs {
	t.Helper()
	rows, err := report.CreateRows(filepath.Join(dir, "requests.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	values, err := report.CreateHistograms(filepath.Join(dir, "histograms.bin"))
	if err != nil {
		t.Fatal(err)
	}
	return Outputs{Rows: rows, Values: values}
}

// spillOf has n outcomes that make makes.
func spillOf(t testing.TB, dir string, n int64, make func(o *Outcome, i int64)) *Spill {
	t.Helper()
	s, err := CreateSpill(filepath.Join(dir, "stage.spill"), "run-1-m0-r0-s0")
	if err != nil {
		t.Fatal(err)
	}
	o := new(Outcome)
	for i := range n {
		make(o, i)
		s.Add(o)
	}
	return s
}

// cpu is the processor time of the process.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWrite100k writes the results of 100 000 requests of one event: rows, values and numbers.
func BenchmarkWrite100k(b *testing.B) {
	const n = 100_000
	least := time.Hour // of the iterations: other processes only make it more
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		s := spillOf(b, dir, n, typical)
		if err := s.close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		from := cpu()
		out := outputsIn(b, dir)
		in := &Stage{
			Plan: runplan.Stage{Measure: true, Shape: runplan.ShapeClosed}, End: n * 10_000,
			WindowEnd: n * 10_000, DrainEnd: n * 10_000,
		}
		sum, err := Summarize(s, in, out)
		if err != nil {
			b.Fatal(err)
		}
		if err := report.AppendStage(filepath.Join(dir, "stages.jsonl"), &sum.Result); err != nil {
			b.Fatal(err)
		}
		if err := out.Rows.Finish(report.Header{}); err != nil {
			b.Fatal(err)
		}
		if err := out.Values.Close(); err != nil {
			b.Fatal(err)
		}
		least = min(least, cpu()-from)
		b.StopTimer()
		for _, f := range []string{"requests.jsonl.gz", "histograms.bin", "stage.spill"} {
			if info, err := os.Stat(filepath.Join(dir, f)); err == nil {
				b.ReportMetric(float64(info.Size())/n, "B/row-"+f)
			}
		}
		if err := s.Remove(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(least.Nanoseconds())/n, "cpu-ns/row")
}
