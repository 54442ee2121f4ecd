package record

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// status returns a number of /proc/self/status in MB.
func status(b *testing.B, key string) float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("it needs /proc")
	}
	_, rest, _ := bytes.Cut(text, []byte(key+":"))
	kb, err := strconv.ParseFloat(string(bytes.Fields(rest)[0]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return kb / 1024
}

// BenchmarkMemory puts outcomes through the spill and summarises them: what the process holds a tenth into the load, at
// its end, and at its peak. Run one size at a time (-bench Memory/1000000): a peak is that of the process.
func BenchmarkMemory(b *testing.B) {
	for _, n := range []int64{1_000_000, 2_000_000} {
		b.Run(strconv.FormatInt(n, 10), func(b *testing.B) {
			defer debug.SetGCPercent(debug.SetGCPercent(800)) // as while load-gen sends
			for b.Loop() {
				dir := b.TempDir()
				tenth := 0.0
				s := spillOf(b, dir, n, func(o *Outcome, i int64) {
					if typical(o, i); i == n/10 {
						tenth = status(b, "VmRSS")
					}
				})
				b.ReportMetric(tenth, "MB-after-tenth")
				b.ReportMetric(status(b, "VmRSS"), "MB-after-load")
				b.ReportMetric(status(b, "VmHWM"), "MB-peak-of-load")
				out := outputsIn(b, dir)
				end := n * 10_000
				in := &Stage{
					Plan: runplan.Stage{Measure: true, Shape: runplan.ShapeClosed}, End: end,
					WindowEnd: end, DrainEnd: end,
				}
				if _, err := Summarize(s, in, out); err != nil {
					b.Fatal(err)
				}
				if err := out.Rows.Finish(report.Header{}); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(status(b, "VmHWM"), "MB-peak")
				if err := s.Remove(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
