package record

import (
	"math"
	"slices"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/radix"
)

// flight holds the moments at which the number of requests in flight changes, as keys of package radix.
type flight struct{ sends, ends column[uint64] }

func newFlight(s *store) *flight {
	return &flight{sends: column[uint64]{store: s}, ends: column[uint64]{store: s}}
}

func (f *flight) add(send, end int64) {
	f.sends.add(radix.Stamp(send))
	f.ends.add(radix.Stamp(end))
}

// inMemory is how many sends are sorted at a time.
const inMemory = 2_000_000

// metric returns the number in flight over [start, end), weighted by time; false for an empty window.
func (f *flight) metric(start, end int64) (report.Metric, bool) {
	if end <= start {
		return report.Metric{}, false
	}
	l := levels{start: start, end: end, from: start}
	parts := int64(f.sends.size()/inMemory + 1)
	low := uint64(0)
	for i := range parts {
		top := uint64(math.MaxUint64)
		if i < parts-1 {
			top = radix.Stamp(start + (end-start)/parts*(i+1))
		}
		l.merge(sorted(&f.sends, low, top), sorted(&f.ends, low, top))
		low = top + 1
	}
	l.step(end)
	return weighted(l.ns), true
}

// sorted returns the moments of a column from low to top in order.
func sorted(c *column[uint64], low, top uint64) []uint64 {
	out := c.within(low, top, make([]uint64, 0, min(c.size(), inMemory+chunk)))
	radix.Sort(out, nil)
	return out
}

// levels add up how long each number of requests in flight lasted.
type levels struct {
	start, end, from int64
	level            int
	ns               []int64 // by level
}

// merge takes in moments in order. A request that ends as another is sent makes room for it.
func (l *levels) merge(sends, ends []uint64) {
	for len(sends) > 0 || len(ends) > 0 {
		if len(sends) == 0 || len(ends) > 0 && ends[0] <= sends[0] {
			l.step(radix.Unstamp(ends[0]))
			l.level--
			ends = ends[1:]
			continue
		}
		l.step(radix.Unstamp(sends[0]))
		l.level++
		sends = sends[1:]
	}
}

func (l *levels) step(at int64) {
	if at = min(max(at, l.start), l.end); at <= l.from {
		return
	}
	level := max(0, l.level)
	if level >= len(l.ns) {
		l.ns = append(l.ns, make([]int64, level+1-len(l.ns))...)
	}
	l.ns[level] += at - l.from
	l.from = at
}

// weighted summarises levels by the time that each lasted. N is the number of seconds.
func weighted(ns []int64) report.Metric {
	total := int64(0)
	for _, d := range ns {
		total += d
	}
	seconds := float64(total) / 1e9
	lasted := func(d int64) bool { return d > 0 }
	m := report.Metric{Unit: report.Unit("concurrency"), N: int64(math.Round(seconds)), Quantiles: map[string]float64{}}
	m.Min, m.Max = float64(slices.IndexFunc(ns, lasted)), float64(len(ns)-1)
	for level, d := range ns {
		m.Sum += float64(level) * float64(d) / 1e9
	}
	m.Mean = m.Sum / seconds
	spread := 0.0
	for level, d := range ns {
		spread += (float64(level) - m.Mean) * (float64(level) - m.Mean) * float64(d) / 1e9
	}
	m.Stdev = math.Sqrt(spread / seconds)
	for _, q := range report.Quantiles {
		m.Quantiles[q.Name] = quantile(ns, q.P/100*float64(total))
	}
	return m
}

func quantile(ns []int64, until float64) float64 {
	for level, d := range ns {
		if until -= float64(d); until <= 0 && d > 0 {
			return float64(level)
		}
	}
	return float64(len(ns) - 1)
}
