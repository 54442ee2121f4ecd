package report

import (
	"math"
	"slices"
)

// Percentile returns the p-th percentile (p in 0 to 100) of sorted, which is in ascending order and not empty, by
// linear interpolation between order statistics.
func Percentile(sorted []float64, p float64) float64 {
	at := p / 100 * float64(len(sorted)-1)
	i := int(math.Floor(at))
	switch {
	case i < 0:
		return sorted[0]
	case i+1 >= len(sorted):
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// LowN says whether n values are too few for their p-th percentile (p in 0 to 100): fewer than ten lie beyond it.
func LowN(n int64, p float64) bool {
	// 1000 values have exactly ten beyond p99; the product alone comes out a hair below.
	return math.Round(float64(n)*(100-p)*1e6)/1e8 < 10
}

// Summarize returns the Metric of xs, in any order and not modified; false for an empty xs, because what was not
// measured is absent and not zero.
func Summarize(unit string, xs []float64) (Metric, bool) {
	d := NewDistribution(unit)
	for _, x := range xs {
		d.Add(x)
	}
	return d.Metric()
}

// moments are the running count, sum and spread of a series.
type moments struct {
	n        int64
	sum      float64
	mean     float64
	m2       float64 // sum of squared differences from the mean
	min, max float64
}

func (m *moments) add(x float64) {
	if m.n == 0 {
		m.min, m.max = x, x
	}
	m.n++
	m.sum += x
	d := x - m.mean
	m.mean += d / float64(m.n)
	m.m2 += d * (x - m.mean)
	m.min, m.max = min(m.min, x), max(m.max, x)
}

func (m *moments) merge(o moments) {
	if o.n == 0 {
		return
	}
	if m.n == 0 {
		*m = o
		return
	}
	n := float64(m.n + o.n)
	d := o.mean - m.mean
	m.m2 += o.m2 + d*d*float64(m.n)*float64(o.n)/n
	m.mean += d * float64(o.n) / n
	m.n += o.n
	m.sum += o.sum
	m.min, m.max = min(m.min, o.min), max(m.max, o.max)
}

// stdev is that of the whole population (divisor n).
func (m *moments) stdev() float64 {
	if m.n == 0 {
		return 0
	}
	return math.Sqrt(max(0, m.m2/float64(m.n)))
}

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

// Merge adds every value of o.
func (d *Distribution) Merge(o *Distribution) {
	d.merge(o.moments)
	if d.hist == nil && o.hist == nil {
		d.exact, d.sorted = append(d.exact, o.exact...), false
		d.bound()
		return
	}
	d.condense()
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
		d.condense()
	}
}

func (d *Distribution) condense() {
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
		slices.Sort(d.exact)
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
		Quantiles: make(map[string]float64, len(Quantiles))}
	for _, q := range Quantiles {
		m.Quantiles[q.Name], _ = d.Percentile(q.P)
		if LowN(d.n, q.P) {
			m.LowN = append(m.LowN, q.Name)
		}
	}
	return m, true
}
