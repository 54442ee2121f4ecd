package verdict

import (
	"math"

	"bflow.dev/bflow/report"
)

// z is the two-sided 95 % quantile of the normal distribution.
const z = 1.959964

// Wilson returns the 95 % score interval of a share of which good of n were seen. It needs n > 0.
func Wilson(good, n int64) (low, high float64) {
	p, m := float64(good)/float64(n), float64(n)
	middle := p + z*z/(2*m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	scale := 1 + z*z/m
	return max(0, (middle-half)/scale), min(1, (middle+half)/scale)
}

// interval is the 95 % interval of a value; an end that the data cannot give is nil.
type interval struct{ low, high *float64 }

// quantileInterval is that of the p-th percentile (0 < p < 100) between two order statistics, found by the binomial
// distribution of the rank. Where the rank lies beyond the last value the end is open: that is what too few values
// mean.
func quantileInterval(d *report.Distribution, p float64) interval {
	n, q := float64(d.N()), p/100
	half := z * math.Sqrt(n*q*(1-q))
	return interval{low: rank(d, math.Floor(n*q-half)), high: rank(d, math.Ceil(n*q+half)+1)}
}

// rank returns the r-th smallest value, from 1, nil where there is none.
func rank(d *report.Distribution, r float64) *float64 {
	n := float64(d.N())
	if r < 1 || r > n {
		return nil
	}
	at := 50.0
	if n > 1 {
		at = (r - 1) / (n - 1) * 100
	}
	v, ok := d.Percentile(at)
	if !ok {
		return nil
	}
	return &v
}

// meanInterval is that of the mean of many values.
func meanInterval(m report.Metric) interval {
	if m.N < 2 {
		return interval{}
	}
	return around(m.Mean, z*m.Stdev/math.Sqrt(float64(m.N-1)))
}

func around(middle, half float64) interval {
	low, high := middle-half, middle+half
	return interval{low: &low, high: &high}
}

// blockSeconds is the length of the blocks whose means count as independent.
const blockSeconds = 5

// minBlocks below which the spread of block means says nothing.
const minBlocks = 6

// rateInterval is that of a rate with the given values per second, by means over blocks. It is empty for a series too
// short for that.
func rateInterval(perSecond []float64) interval {
	var sum, squares float64
	blocks := len(perSecond) / blockSeconds
	if blocks < minBlocks {
		return interval{}
	}
	for b := range blocks {
		mean := 0.0
		for _, v := range perSecond[b*blockSeconds : (b+1)*blockSeconds] {
			mean += v / blockSeconds
		}
		sum += mean
		squares += mean * mean
	}
	n := float64(blocks)
	variance := max(0, (squares-sum*sum/n)/(n-1))
	return around(sum/n, student(n-1)*math.Sqrt(variance/n))
}

// student is the two-sided 95 % quantile of the t distribution, within 1 % from five degrees of freedom on
// (two terms of the Cornish-Fisher expansion).
func student(df float64) float64 {
	z3, z5 := z*z*z, z*z*z*z*z
	return z + (z3+z)/(4*df) + (5*z5+16*z3+3*z)/(96*df*df)
}
