package compile

import (
	"io"
	"runtime"
	"testing"
)

type counter struct{ bytes int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return len(p), nil
}

// BenchmarkCompile10000 seals and compiles 10,000 plans into a stream. It reports the size of the stream and the
// highest heap seen.
func BenchmarkCompile10000(b *testing.B) {
	var out counter
	for b.Loop() {
		out = counter{}
		if err := Write(io.Writer(&out), matrix(b, 10_000), Options{}); err != nil {
			b.Fatal(err)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(out.bytes)/1e6, "MB-out")
	b.ReportMetric(float64(m.HeapSys)/1e6, "MB-heap")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/op")
}
