package report

import "math"

// Percentile returns the p-th percentile (p in 0 to 100) of sorted, which is in ascending order and not empty, by
// linear interpolation between order statistics.
func Percentile(sorted []float64, p float64) float64 {
	i, part := Place(len(sorted), p)
	if part == 0 {
		return sorted[i]
	}
	return sorted[i] + part*(sorted[i+1]-sorted[i])
}

// Place returns where the p-th percentile of n values in order lies: at value i and, where part is above 0, that part
// of the way to value i+1.
func Place(n int, p float64) (i int, part float64) {
	at := p / 100 * float64(n-1)
	switch i = int(math.Floor(at)); {
	case i < 0:
		return 0, 0
	case i+1 >= n:
		return n - 1, 0
	}
	return i, at - float64(i)
}

// LowN says whether n values are too few for their p-th percentile (p in 0 to 100): fewer than ten lie beyond it.
func LowN(n int64, p float64) bool {
	// 1000 values have exactly ten beyond p99; the product alone comes out a hair below.
	return math.Round(float64(n)*(100-p)*1e6)/1e8 < 10
}

// LowQuantiles are the names of the Quantiles that n values are too few for.
func LowQuantiles(n int64) (names []string) {
	for _, q := range Quantiles {
		if LowN(n, q.P) {
			names = append(names, q.Name)
		}
	}
	return names
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

// addAll adds xs: their sum and spread are taken in two passes, which is exacter than value by value and takes no
// division for each.
func (m *moments) addAll(xs []float64) {
	if len(xs) == 0 {
		return
	}
	all := moments{n: int64(len(xs)), sum: total(xs), min: xs[0], max: xs[0]}
	all.mean = all.sum / float64(all.n)
	var m2 [lanes]float64
	for len(xs) > 0 {
		n := min(lanes, len(xs))
		for i, x := range xs[:n] {
			m2[i] += (x - all.mean) * (x - all.mean)
			if x < all.min {
				all.min = x
			}
			if x > all.max {
				all.max = x
			}
		}
		xs = xs[n:]
	}
	for _, x := range m2 {
		all.m2 += x
	}
	m.merge(all)
}

// lanes are sums that are formed side by side: one alone waits for each of its additions.
const lanes = 4

func total(xs []float64) float64 {
	var sums [lanes]float64
	for ; len(xs) >= lanes; xs = xs[lanes:] {
		sums[0] += xs[0]
		sums[1] += xs[1]
		sums[2] += xs[2]
		sums[3] += xs[3]
	}
	for i, x := range xs {
		sums[i] += x
	}
	return sums[0] + sums[1] + sums[2] + sums[3]
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
