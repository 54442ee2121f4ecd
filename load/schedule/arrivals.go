package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// gaps returns a function that draws the gaps of a process of rate 1, nil for one whose every gap is 1.
func gaps(arrival string, burstiness float64, rng *rand.Rand) (func() float64, error) {
	switch arrival {
	case "", Constant:
		return nil, nil
	case Poisson:
		return func() float64 { return exponential(rng) }, nil
	case Gamma:
		if burstiness == 0 {
			burstiness = 1
		}
		if !(burstiness > 0) || math.IsInf(burstiness, 0) {
			return nil, fmt.Errorf("burstiness %v is not above 0: 1 is poisson, below 1 comes in bursts", burstiness)
		}
		return func() float64 { return gamma(rng, burstiness) / burstiness }, nil
	}
	return nil, fmt.Errorf("arrival %q is not one of constant, poisson, gamma", arrival)
}

// exponential draws a gap of mean 1: -ln(U), U in (0, 1].
func exponential(rng *rand.Rand) float64 { return -math.Log(1 - rng.Float64()) }

// gamma draws from the gamma distribution of the given shape and scale 1, by the squeeze of Marsaglia and Tsang; below
// shape 1 by a power of a uniform variate times the distribution of shape+1.
func gamma(rng *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(rng, shape+1) * math.Pow(1-rng.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-rng.Float64()) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
