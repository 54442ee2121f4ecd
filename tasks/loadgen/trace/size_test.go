package trace

import (
	"fmt"
	"io"
	"runtime"
	"testing"

	"bflow.dev/bflow/runplan"
)

// rows is an endless file of the shape of the public Mooncake traces: inputs of 8,000 tokens, whose first blocks are
// shared and whose last ones are new.
type rows struct {
	n, of int
	rest  []byte
}

func (r *rows) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.n == r.of {
			return 0, io.EOF
		}
		b := fmt.Appendf(r.rest[:0], `{"timestamp": %d, "input_length": 8000, "output_length": 182, "hash_ids": [`, r.n*152)
		for i := range 16 {
			id := i
			if i >= 4 {
				id = 1000 + 12*r.n + i
			}
			b = fmt.Appendf(b, "%d, ", id)
		}
		r.rest = append(b[:len(b)-2], "]}\n"...)
		r.n++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func TestATraceIsSmall(t *testing.T) {
	const n = 100_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x, err := Read(&rows{of: n}, runplan.Trace{Format: runplan.TraceMooncake})
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	// 40 bytes a request, 4 of an index, 20 of blocks, and what growing slices leave over.
	if size := float64(after.HeapAlloc-before.HeapAlloc) / n; size > 90 {
		t.Errorf("%.0f bytes per request of 16 blocks", size)
	}
	runtime.KeepAlive(x)
}

func BenchmarkRead(b *testing.B) {
	b.ReportAllocs()
	if _, err := Read(&rows{of: b.N}, runplan.Trace{Format: runplan.TraceMooncake}); err != nil {
		b.Fatal(err)
	}
}
