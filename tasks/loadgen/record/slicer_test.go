package record

import (
	"path/filepath"
	"testing"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

func TestSlicesOfTime(t *testing.T) {
	dir := t.TempDir()
	ms := int64(time.Millisecond)
	// A request each 100 ms with tokens 10, 20 and 30 ms after it; from the third slice on the answer is slower.
	s := spillOf(t, dir, 10, func(o *Outcome, i int64) {
		o.Reset()
		o.Intended, o.Send = i*100*ms, i*100*ms
		o.Status, o.Out = report.StatusOK, 3
		late := int64(0)
		if i >= 8 {
			late = 90 * ms
		}
		for k := range int64(3) {
			o.Token(o.Send+late+10*ms*(k+1), 1)
		}
		o.End, o.FirstByte = o.Last, o.First
	})
	out := outputsIn(t, dir)
	path := filepath.Join(dir, report.FileSlices)
	var err error
	if out.Slices, err = report.CreateSlices(path); err != nil {
		t.Fatal(err)
	}
	out.Slice = 400 * time.Millisecond
	in := &Stage{
		Plan: runplan.Stage{Shape: runplan.ShapeOpen}, End: 1000 * ms, WindowEnd: 1000 * ms, DrainEnd: 1100 * ms,
		AnchorUnixNS: 5, Index: 3,
	}
	if _, err := Summarize(s, in, out); err != nil {
		t.Fatal(err)
	}
	if err := out.Slices.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := report.ReadSlices(path)
	if err != nil || len(got) != 3 {
		t.Fatalf("%d slices: %v", len(got), err)
	}
	for i, want := range []struct {
		requests int
		ttft     float64
	}{{4, 10}, {4, 10}, {2, 100}} {
		g := got[i]
		if g.Stage != 3 || g.Slice != i || g.StartNS != 5+int64(i)*400*ms || g.Requests != want.requests ||
			g.Done != want.requests ||
			g.Metrics["ttft"].Quantiles["p50"] != want.ttft || g.Metrics["itl"].N != int64(2*want.requests) ||
			g.Rates["output_token_rate"] != float64(3*want.requests)/0.4 {
			t.Errorf("slice %d: %+v", i, g)
		}
	}
}
