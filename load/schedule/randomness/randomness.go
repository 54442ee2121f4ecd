// Package randomness tests whether times follow the process that they claim to follow: the statistics behind the
// tests of schedules, for tests and benchmarks. It draws nothing and reads no clock.
package randomness

import (
	"math"
	"slices"
)

// Gaps returns the differences of times that are in order, in the unit of the times.
func Gaps(times []float64) []float64 {
	var out []float64
	for i := 1; i < len(times); i++ {
		out = append(out, times[i]-times[i-1])
	}
	return out
}

// Moments returns the mean and the variance (of a population) of xs.
func Moments(xs []float64) (mean, variance float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		variance += (x - mean) * (x - mean) / float64(len(xs))
	}
	return mean, variance
}

// CV returns the coefficient of variation of xs: 0 where all are equal, 1 for an exponential distribution.
func CV(xs []float64) float64 {
	mean, variance := Moments(xs)
	return math.Sqrt(variance) / mean
}

// Autocorrelation returns the correlation of xs with itself lag places later: about 0 ± 1/sqrt(n) where they are
// independent.
func Autocorrelation(xs []float64, lag int) float64 {
	mean, variance := Moments(xs)
	sum := 0.0
	for i := lag; i < len(xs); i++ {
		sum += (xs[i] - mean) * (xs[i-lag] - mean)
	}
	return sum / float64(len(xs)) / variance
}

// Dispersion returns variance / mean of the counts in the whole windows of the given length from 0, and how many those
// are: 1 ± sqrt(2/windows) for a Poisson process, 0 for even arrivals, more where they come in bursts. Times are in
// order, in the unit of window.
func Dispersion(times []float64, window float64) (index float64, windows int) {
	if len(times) == 0 {
		return 0, 0
	}
	counts := make([]float64, int(times[len(times)-1]/window))
	for _, t := range times {
		if i := int(t / window); i < len(counts) {
			counts[i]++
		}
	}
	mean, variance := Moments(counts)
	return variance / mean, len(counts)
}

// KS is the test of Kolmogorov and Smirnov of xs against a continuous distribution: the largest distance between the
// two cumulative shares, and the probability of one as large or larger when xs are drawn from it. xs stay as they are.
func KS(xs []float64, cdf func(float64) float64) (distance, p float64) {
	sorted := slices.Sorted(slices.Values(xs))
	n := float64(len(sorted))
	for i, x := range sorted {
		c := cdf(x)
		distance = max(distance, c-float64(i)/n, float64(i+1)/n-c)
	}
	// Stephens's factor makes the limiting distribution good to some 1e-3 from n = 5 on.
	return distance, Kolmogorov(distance * (math.Sqrt(n) + 0.12 + 0.11/math.Sqrt(n)))
}

// Kolmogorov returns the upper tail of Kolmogorov's distribution, Q(x) = 2 sum over k >= 1 of (-1)^(k-1) e^(-2k²x²);
// below x = 1.18 by the other series, 1 - sqrt(2 pi)/x sum over k of e^(-(2k-1)² pi²/8x²), which converges there.
func Kolmogorov(x float64) float64 {
	if x <= 0 {
		return 1
	}
	sum := 0.0
	if x < 1.18 {
		for k := 1.0; k < 8; k++ {
			sum += math.Exp(-(2*k - 1) * (2*k - 1) * math.Pi * math.Pi / (8 * x * x))
		}
		return 1 - math.Sqrt(2*math.Pi)/x*sum
	}
	sign := 1.0
	for k := 1.0; k < 8; k++ {
		sum += sign * math.Exp(-2*k*k*x*x)
		sign = -sign
	}
	return 2 * sum
}
