package randomness

import (
	"math"
	"math/rand/v2"
	"testing"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s = %v, want %v ± %v", what, got, want, within)
	}
}

func TestKolmogorovHasTheTabulatedTails(t *testing.T) {
	for _, row := range []struct{ x, want float64 }{
		{x: 0.3, want: 0.9999906}, {x: 0.5, want: 0.9639452}, {x: 0.8276, want: 0.5}, {x: 1.0, want: 0.2699997},
		{x: 1.22385, want: 0.10}, {x: 1.3581, want: 0.05}, {x: 1.6276, want: 0.01}, {x: 1.9495, want: 0.001},
	} {
		near(t, "Q", Kolmogorov(row.x), row.want, 2e-4*row.want)
	}
	near(t, "the two series where they meet", Kolmogorov(1.18-1e-9)-Kolmogorov(1.18+1e-9), 0, 1e-7)
}

func TestGammaHasTheKnownValues(t *testing.T) {
	for _, x := range []float64{0.01, 0.5, 1, 2.9, 3.1, 10, 40} {
		near(t, "shape 1 is exponential", Gamma(1, 3)(x), Exponential(3)(x), 1e-12)
		near(t, "shape 1/2 is the error function", lowerGamma(0.5, x), math.Erf(math.Sqrt(x)), 1e-12)
		near(t, "shape 3 is a sum", lowerGamma(3, x), 1-math.Exp(-x)*(1+x+x*x/2), 1e-12)
	}
	near(t, "the median of shape 1000", lowerGamma(1000, 999.6667), 0.5, 1e-5)
}

func TestTheTestHoldsItsLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const rounds, n = 2000, 200
	low, wrong := 0, 0
	for range rounds {
		xs, ys := make([]float64, n), make([]float64, n)
		for i := range xs {
			xs[i], ys[i] = rng.ExpFloat64(), rng.ExpFloat64()*1.3
		}
		if _, p := KS(xs, Exponential(1)); p < 0.05 {
			low++
		}
		if _, p := KS(ys, Exponential(1)); p < 0.05 {
			wrong++
		}
	}
	near(t, "share below 0.05 of true samples", float64(low)/rounds, 0.05, 0.015)
	if share := float64(wrong) / rounds; share < 0.8 {
		t.Errorf("a mean 30 %% off is seen in %.0f %% of the samples only", 100*share)
	}
}

func TestBurstsAreSeen(t *testing.T) {
	var even, doubled []float64
	for i := range 3000 {
		even = append(even, float64(i)/10)
	}
	rng, at := rand.New(rand.NewPCG(2, 2)), 0.0
	for range 20000 {
		at += rng.ExpFloat64() / 10
		doubled = append(doubled, at, at) // two workers with one seed
	}
	index, windows := Dispersion(even, 1)
	near(t, "dispersion of even arrivals", index, 0, 1e-9)
	near(t, "windows", float64(windows), 299, 0)
	index, _ = Dispersion(doubled, 1)
	near(t, "dispersion of two workers with one seed", index, 2, 0.15)
	near(t, "variation of even gaps", CV(Gaps(even)), 0, 1e-9)
	near(t, "correlation of alternating values", Autocorrelation([]float64{1, -1, 1, -1, 1, -1, 1, -1}, 1), -0.875, 1e-9)
}
