package export_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"

	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/export"
	"bflow.dev/bflow/report/reporttest"
)

// many is a run of twenty thousand requests.
func many(t *testing.T) (export.Run, int) {
	t.Helper()
	dir := reporttest.Write(t, reporttest.Run{Rates: []float64{10_000}, Length: 2e9, Failing: .01})
	r, err := assemble.Report(dir)
	if err != nil {
		t.Fatal(err)
	}
	return export.Run{Dir: dir, Report: r}, r.Measurements[0].Pooled.Stages[1].Counts.Total
}

// withRows are the formats that hold every request.
func withRows() []string {
	return []string{
		"rows-csv", "guidellm", "guidellm-0.3.1", "vllm-bench-detailed", "inference-perf", "aiperf",
		"opensearch", "opensearch-bulk",
	}
}

// watched looks at what is in use on the heap once for every step bytes that are written.
type watched struct {
	written int64
	most    uint64 // bytes on the heap that are in use
}

const step = 2 << 20

func (w *watched) Write(p []byte) (int, error) {
	if before := w.written / step; (w.written+int64(len(p)))/step > before {
		w.most = max(w.most, inUse())
	}
	w.written += int64(len(p))
	return len(p), nil
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestAnExportHoldsTheNumbersOfRequestsAndNoDocument(t *testing.T) {
	run, requests := many(t)
	for _, format := range withRows() {
		t.Run(format, func(t *testing.T) {
			before := inUse()
			e, err := export.New(format)
			if err != nil {
				t.Fatal(err)
			}
			files, err := e.Files(t.Context(), run)
			if err != nil {
				t.Fatal(err)
			}
			var w watched
			for _, f := range files {
				if err := f.Write(t.Context(), &w); err != nil {
					t.Fatal(err)
				}
			}
			if w.written < int64(requests)*50 {
				t.Fatalf("%d bytes are too few for %d requests", w.written, requests)
			}
			const perRequest, buffers = 80, 8 << 20
			if most := int64(w.most) - int64(before); most > int64(requests)*perRequest+buffers {
				t.Errorf("%d bytes of %d requests take %d bytes of memory", w.written, requests, most)
			}
		})
	}
}

// cancelling ends a context once some bytes were written.
type cancelling struct {
	cancel  context.CancelFunc
	written int
}

func (c *cancelling) Write(p []byte) (int, error) {
	if c.written += len(p); c.written > step {
		c.cancel()
	}
	return len(p), nil
}

func TestAnExportEndsWithItsContext(t *testing.T) {
	run, _ := many(t)
	for _, format := range withRows() {
		t.Run(format, func(t *testing.T) {
			e, err := export.New(format)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			files, err := e.Files(ctx, run)
			if err != nil {
				t.Fatal(err)
			}
			w := cancelling{cancel: cancel}
			// the list of requests is the last file of a folder and the only one of this size
			slices.Reverse(files)
			err = files[0].Write(ctx, &w)
			if w.written <= step {
				t.Skipf("%d bytes are written at once", w.written)
			}
			if !errors.Is(err, context.Canceled) || w.written > 2*step {
				t.Errorf("%d bytes were written: %v", w.written, err)
			}
			if _, err := e.Files(ctx, run); !errors.Is(err, context.Canceled) && format != "rows-csv" {
				t.Errorf("numbers are read on: %v", err)
			}
		})
	}
}
