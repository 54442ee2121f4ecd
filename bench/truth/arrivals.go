package truth

import (
	"math"
	"slices"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/sim"
)

// Arrivals returns the arrival times of the records in order, in seconds since the first.
func Arrivals(log []sim.Record) []float64 {
	at := make([]int64, len(log))
	for i := range log {
		at[i] = log[i].Arrival
	}
	slices.Sort(at)
	out := make([]float64, len(at))
	for i := range at {
		out[i] = float64(at[i]-at[0]) / 1e9
	}
	return out
}

// Gaps returns the differences of neighbours.
func Gaps(times []float64) []float64 {
	var out []float64
	for i := 1; i < len(times); i++ {
		out = append(out, times[i]-times[i-1])
	}
	return out
}

// Spread is the time from the first to the last.
func Spread(times []float64) float64 {
	if len(times) == 0 {
		return 0
	}
	return times[len(times)-1] - times[0]
}

// Quantiles returns the percentiles ps of xs, by linear interpolation between order statistics; xs is not modified.
// Without values they are NaN.
func Quantiles(xs []float64, ps ...float64) []float64 {
	sorted := slices.Sorted(slices.Values(xs))
	out := make([]float64, len(ps))
	for i, p := range ps {
		out[i] = math.NaN()
		if len(sorted) > 0 {
			out[i] = report.Percentile(sorted, p)
		}
	}
	return out
}

// mean and variance of the population.
func moments(xs []float64) (mean, variance float64) {
	for _, x := range xs {
		mean += x
	}
	mean /= float64(len(xs))
	for _, x := range xs {
		variance += (x - mean) * (x - mean)
	}
	return mean, variance / float64(len(xs))
}

// CV is the coefficient of variation: standard deviation by mean.
func CV(xs []float64) float64 {
	mean, variance := moments(xs)
	return math.Sqrt(variance) / mean
}

// KolmogorovSmirnov returns the p-value of the hypothesis that gaps are exponential with the given mean: the
// asymptotic distribution with Stephens' correction for the sample size, good for n above 35.
func KolmogorovSmirnov(gaps []float64, mean float64) float64 {
	sorted := slices.Sorted(slices.Values(gaps))
	n := float64(len(sorted))
	d := 0.0
	for i, x := range sorted {
		cdf := -math.Expm1(-x / mean)
		d = max(d, cdf-float64(i)/n, float64(i+1)/n-cdf)
	}
	root := math.Sqrt(n)
	return kolmogorov((root + 0.12 + 0.11/root) * d)
}

// kolmogorov is the complement of Kolmogorov's distribution.
func kolmogorov(t float64) float64 {
	if t < 0.2 { // the series does not converge there, and the value is 1 to ten digits
		return 1
	}
	p := 0.0
	for k := 1; k <= 100; k++ {
		term := 2 * math.Exp(-2*float64(k*k)*t*t)
		if k%2 == 0 {
			term = -term
		}
		p += term
	}
	return min(1, max(0, p))
}

// Autocorrelation returns the largest absolute autocorrelation of xs at the lags 1 to last.
func Autocorrelation(xs []float64, last int) float64 {
	mean, variance := moments(xs)
	worst := 0.0
	for lag := 1; lag <= last && lag < len(xs); lag++ {
		sum := 0.0
		for i := lag; i < len(xs); i++ {
			sum += (xs[i] - mean) * (xs[i-lag] - mean)
		}
		worst = max(worst, math.Abs(sum/float64(len(xs))/variance))
	}
	return worst
}

// Dispersion returns the index of dispersion of the counts in windows of so many seconds: variance by mean, 1 for
// Poisson. The last window, which is cut, does not count. windows is their number.
func Dispersion(times []float64, window float64) (index float64, windows int) {
	windows = int(Spread(times) / window)
	if windows < 2 {
		return math.NaN(), windows
	}
	counts := make([]float64, windows)
	for _, t := range times {
		if i := int((t - times[0]) / window); i < windows {
			counts[i]++
		}
	}
	mean, variance := moments(counts)
	return variance / mean, windows
}
