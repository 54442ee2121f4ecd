package report

import (
	"math"
	"slices"

	"bflow.dev/bflow/report/radix"
)

// ExactLimit is the number of values up to which a Distribution keeps each one.
const ExactLimit = 2_000_000

// Distribution collects values of one metric: exactly up to ExactLimit of them, above that in a Histogram. It can be
// merged with others, written to a file and read back. It is not safe for concurrent use.
type Distribution struct {
	unit   string
	exact  []float64
	sorted bool
	hist   *Histogram
	moments
}

// NewDistribution returns an empty distribution of values in unit.
func NewDistribution(unit string) *Distribution { return &Distribution{unit: unit} }

// Unit returns the unit of the values.
func (d *Distribution) Unit() string { return d.unit }

// N returns the number of values.
func (d *Distribution) N() int64 { return d.n }

// Add adds x; NaN and infinities are not values and are ignored.
func (d *Distribution) Add(x float64) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return
	}
	d.add(x)
	if d.hist != nil {
		d.hist.Add(x, 1)
		return
	}
	d.exact, d.sorted = append(d.exact, x), false
	d.bound()
}

// AddAll adds every value of xs; it is faster than Add. NaN and infinities are ignored.
func (d *Distribution) AddAll(xs []float64) {
	if sum := total(xs); sum-sum != 0 { // at least one is no number
		for _, x := range xs {
			d.Add(x)
		}
		return
	}
	d.addAll(xs)
	if d.hist == nil && len(d.exact)+len(xs) > ExactLimit {
		d.Condense()
	}
	if d.hist == nil {
		d.exact, d.sorted = append(d.exact, xs...), false
		return
	}
	for _, x := range xs {
		d.hist.Add(x, 1)
	}
}

// Reset makes d an empty distribution in unit that has room for n values; it keeps what memory it has.
func (d *Distribution) Reset(unit string, n int) {
	*d = Distribution{unit: unit, exact: slices.Grow(d.exact[:0], min(n, ExactLimit))}
}

// Merge adds every value of o.
func (d *Distribution) Merge(o *Distribution) {
	d.merge(o.moments)
	if d.hist == nil && o.hist == nil {
		d.exact, d.sorted = append(d.exact, o.exact...), false
		d.bound()
		return
	}
	d.Condense()
	for _, x := range o.exact {
		d.hist.Add(x, 1)
	}
	if o.hist != nil {
		d.hist.Merge(o.hist)
	}
}

// Clone returns an independent copy.
func (d *Distribution) Clone() *Distribution {
	c := NewDistribution(d.unit)
	c.Merge(d)
	return c
}

func (d *Distribution) bound() {
	if len(d.exact) > ExactLimit {
		d.Condense()
	}
}

// Condense keeps only the histogram of the values from here on.
func (d *Distribution) Condense() {
	if d.hist != nil {
		return
	}
	d.hist = &Histogram{}
	for _, x := range d.exact {
		d.hist.Add(x, 1)
	}
	d.exact = nil
}

// Percentile returns the p-th percentile (p in 0 to 100); false without values.
func (d *Distribution) Percentile(p float64) (float64, bool) {
	if d.n == 0 {
		return 0, false
	}
	if d.hist != nil {
		return min(max(d.hist.Percentile(p), d.min), d.max), true
	}
	if !d.sorted {
		radix.Floats(d.exact, nil)
		d.sorted = true
	}
	return Percentile(d.exact, p), true
}

// ShareAtMost returns the share of values that are at most x; false without values.
func (d *Distribution) ShareAtMost(x float64) (float64, bool) {
	switch {
	case d.n == 0:
		return 0, false
	case d.hist != nil:
		return float64(d.hist.CountAtMost(x)) / float64(d.n), true
	}
	d.Percentile(0)
	i, _ := slices.BinarySearchFunc(d.exact, x, func(v, x float64) int {
		if v <= x {
			return -1
		}
		return 1
	})
	return float64(i) / float64(d.n), true
}

// Metric summarises the distribution; false without values.
func (d *Distribution) Metric() (Metric, bool) {
	if d.n == 0 {
		return Metric{}, false
	}
	m := Metric{Unit: d.unit, N: d.n, Mean: d.mean, Stdev: d.stdev(), Min: d.min, Max: d.max, Sum: d.sum,
		Quantiles: make(map[string]float64, len(Quantiles)), LowN: LowQuantiles(d.n)}
	values := d.quantiles()
	for i, q := range Quantiles {
		m.Quantiles[q.Name] = values[i]
	}
	return m, true
}

// quantiles returns the values of Quantiles.
func (d *Distribution) quantiles() []float64 {
	out := make([]float64, len(Quantiles))
	if d.hist != nil || d.sorted || len(d.exact) <= 1<<pickBits {
		for i, q := range Quantiles {
			out[i], _ = d.Percentile(q.P)
		}
		return out
	}
	var ranks []int
	for _, q := range Quantiles {
		at, _ := Place(len(d.exact), q.P)
		ranks = append(ranks, at, min(at+1, len(d.exact)-1))
	}
	slices.Sort(ranks)
	values := pick(d.exact, d.min, d.max, ranks)
	for i, q := range Quantiles {
		at, part := Place(len(d.exact), q.P)
		j, _ := slices.BinarySearch(ranks, at)
		out[i] = values[j]
		if part > 0 {
			k, _ := slices.BinarySearch(ranks, at+1)
			out[i] += part * (values[k] - values[j])
		}
	}
	return out
}
