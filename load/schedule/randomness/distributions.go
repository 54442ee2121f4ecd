package randomness

import "math"

// Exponential returns the cumulative distribution of an exponential one with the given mean.
func Exponential(mean float64) func(float64) float64 {
	return func(x float64) float64 { return -math.Expm1(-max(0, x) / mean) }
}

// Gamma returns the cumulative distribution of a gamma one with the given shape and mean: the regularised lower
// incomplete gamma function P(shape, x shape/mean).
func Gamma(shape, mean float64) func(float64) float64 {
	return func(x float64) float64 { return lowerGamma(shape, max(0, x)*shape/mean) }
}

// enough terms for shapes up to some thousands.
const enough = 100_000

// lowerGamma is P(a, x): its power series below x = a+1, the continued fraction of Q = 1-P above, by Lentz's method.
func lowerGamma(a, x float64) float64 {
	if x <= 0 {
		return 0
	}
	logGamma, _ := math.Lgamma(a)
	front := math.Exp(a*math.Log(x) - x - logGamma)
	if x < a+1 {
		return front * series(a, x)
	}
	return 1 - front*fraction(a, x)
}

func series(a, x float64) float64 {
	term := 1 / a
	sum := term
	for n := 1.0; n < enough && term > sum*1e-16; n++ {
		term *= x / (a + n)
		sum += term
	}
	return sum
}

func fraction(a, x float64) float64 {
	const tiny = 1e-300
	b := x + 1 - a
	c, d := 1/tiny, 1/b
	h := d
	for i := 1.0; i < enough; i++ {
		step := -i * (i - a)
		b += 2
		d = 1 / nonzero(step*d+b, tiny)
		c = nonzero(b+step/c, tiny)
		h *= d * c
		if math.Abs(d*c-1) < 1e-15 {
			break
		}
	}
	return h
}

func nonzero(x, tiny float64) float64 {
	if math.Abs(x) < tiny {
		return tiny
	}
	return x
}
