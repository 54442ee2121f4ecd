package record

import (
	"path/filepath"
	"slices"
	"testing"

	"bflow.dev/bflow/report"
)

// storeIn keeps everything on disk.
func storeIn(t *testing.T) *store {
	s := &store{path: filepath.Join(t.TempDir(), "columns"), held: inRoom}
	t.Cleanup(func() {
		if err := s.remove(); err != nil || s.firstError() != nil {
			t.Error(err, s.firstError())
		}
	})
	return s
}

func TestAColumnHoldsEveryValue(t *testing.T) {
	for _, held := range []int{0, inRoom} { // in memory, on disk
		s := storeIn(t)
		s.held = held
		c := &column[float64]{store: s}
		n := 3*chunk + 7
		for i := range n {
			c.add(float64(n - i))
		}
		twin := c.clone()
		twin.add(0.5)
		d := distribution(c, "ms", report.NewDistribution(""))
		if p, _ := d.Percentile(0); d.N() != int64(n) || p != 1 {
			t.Errorf("%d values from %v", d.N(), p)
		}
		if d := distribution(twin, "ms", report.NewDistribution("")); d.N() != int64(n)+1 {
			t.Errorf("%d values in the copy", d.N())
		}
		got := c.within(2, 4, nil)
		if slices.Sort(got); !slices.Equal(got, []float64{2, 3, 4}) {
			t.Errorf("from 2 to 4: %v", got)
		}
	}
}

func TestAboveTheLimitAColumnKeepsAHistogram(t *testing.T) {
	c := &column[float64]{store: storeIn(t)}
	n := report.ExactLimit + 100_000
	for i := range n {
		c.add(1 + float64(i%1000))
	}
	twin := c.clone()
	m, ok := distribution(c, "ms", report.NewDistribution("")).Metric()
	if p50 := m.Quantiles["p50"]; !ok || m.N != int64(n) || c.folded == nil || c.chunks != nil || p50 < 499 ||
		p50 > 502 || m.Max != 1000 || m.Unit != "ms" {
		t.Errorf("%+v", m)
	}
	twin.add(2000)
	if m, _ := distribution(twin, "ms", report.NewDistribution("")).Metric(); m.N != int64(n)+1 || m.Max != 2000 {
		t.Errorf("copy %+v", m)
	}
}

func TestAColumnThatCannotBeKeptIsAnError(t *testing.T) {
	s := &store{path: filepath.Join(t.TempDir(), "no", "such", "folder"), held: inRoom}
	c := &column[float64]{store: s}
	for i := range 2 * chunk {
		c.add(float64(i))
	}
	if s.firstError() == nil {
		t.Error("no error")
	}
}

func TestConcurrencyOfManyRequestsIsThatOfFew(t *testing.T) {
	whole, parts := newFlight(storeIn(t)), newFlight(storeIn(t))
	for i := range int64(100_000) {
		send, end := i*1000, i*1000+i%7*3000
		whole.add(send, end)
		parts.add(send, end)
	}
	want, _ := whole.metric(5e6, 95e6)
	got := func() report.Metric {
		l := levels{start: 5e6, end: 95e6, from: 5e6}
		l.merge(sorted(&parts.sends, 0, 1<<63+50e6), sorted(&parts.ends, 0, 1<<63+50e6))
		l.merge(sorted(&parts.sends, 1<<63+50e6+1, 1<<64-1), sorted(&parts.ends, 1<<63+50e6+1, 1<<64-1))
		l.step(95e6)
		return weighted(l.ns)
	}()
	if got.Mean != want.Mean || got.Max != want.Max || got.Quantiles["p90"] != want.Quantiles["p90"] {
		t.Errorf("in parts %+v, at once %+v", got, want)
	}
}
