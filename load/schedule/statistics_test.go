package schedule

import (
	"fmt"
	"math"
	"testing"

	"bflow.dev/bflow/load/schedule/randomness"
	"bflow.dev/bflow/runplan"
)

// seeds of the statistical tests. They are fixed: a test at p > 0.01 on fresh ones would fail one time in a hundred.
func seeds() []uint64 { return []uint64{1, 2, 3, 42} }

func bursty(b float64, requests int) runplan.Stage {
	s := stage(Gamma, 0, requests)
	s.Burstiness = b
	return s
}

func TestRandomGapsHaveTheirDistribution(t *testing.T) {
	const rate, n = 50, 20_001
	tests := []struct {
		name  string
		stage runplan.Stage
		cdf   func(float64) float64
		cv    float64
	}{
		{name: "poisson gaps are exponential", stage: stage(Poisson, 0, n), cdf: randomness.Exponential(1.0 / rate), cv: 1},
		{name: "gamma of burstiness 1 is poisson", stage: bursty(1, n), cdf: randomness.Exponential(1.0 / rate), cv: 1},
		{name: "gamma without a burstiness is poisson", stage: bursty(0, n), cdf: randomness.Exponential(1.0 / rate), cv: 1},
		{name: "burstiness 0.25 varies twice as much", stage: bursty(0.25, n), cdf: randomness.Gamma(0.25, 1.0/rate), cv: 2},
		{name: "burstiness 4 varies half as much", stage: bursty(4, n), cdf: randomness.Gamma(4, 1.0/rate), cv: 0.5},
		{name: "burstiness 10000 is nearly constant", stage: bursty(10_000, n),
			cdf: randomness.Gamma(10_000, 1.0/rate), cv: 0.01},
	}
	for _, tt := range tests {
		for _, seed := range seeds() {
			t.Run(fmt.Sprintf("%s, seed %d", tt.name, seed), func(t *testing.T) {
				gaps := randomness.Gaps(times(t, tt.stage, rate, seed))
				if d, p := randomness.KS(gaps, tt.cdf); p <= 0.01 {
					t.Errorf("Kolmogorov-Smirnov distance %v, p %v, want p > 0.01", d, p)
				}
				if cv := randomness.CV(gaps); math.Abs(cv/tt.cv-1) > 0.05 {
					t.Errorf("coefficient of variation %v, want %v", cv, tt.cv)
				}
				if mean, _ := randomness.Moments(gaps); math.Abs(mean*rate-1) > 4*tt.cv/math.Sqrt(n) {
					t.Errorf("mean gap %v s, want %v", mean, 1.0/rate)
				}
			})
		}
	}
}

func TestRandomGapsAreIndependent(t *testing.T) {
	// 0.02 is five standard deviations of a correlation over 60,000 gaps.
	const n = 60_001
	for name, s := range map[string]runplan.Stage{"poisson": stage(Poisson, 0, n), "gamma 0.5": bursty(0.5, n),
		"gamma 3": bursty(3, n)} {
		for _, seed := range seeds() {
			gaps := randomness.Gaps(times(t, s, 100, seed))
			for lag := 1; lag <= 20; lag++ {
				if r := randomness.Autocorrelation(gaps, lag); math.Abs(r) >= 0.02 {
					t.Errorf("%s, seed %d: autocorrelation %v at lag %d", name, seed, r, lag)
				}
			}
		}
	}
}

func TestCountsAreDispersedAsTheProcessSays(t *testing.T) {
	tests := []struct {
		name  string
		stage runplan.Stage
		want  float64
	}{
		{name: "poisson: 1", stage: stage(Poisson, 4000, 0), want: 1},
		{name: "constant: 0", stage: stage(Constant, 4000, 0), want: 0},
	}
	for _, tt := range tests {
		for _, seed := range seeds() {
			index, windows := randomness.Dispersion(times(t, tt.stage, 20, seed), 1)
			if windows < 2000 || math.Abs(index-tt.want) > 0.1 {
				t.Errorf("%s, seed %d: index of dispersion %v over %d windows", tt.name, seed, index, windows)
			}
		}
	}
	if index, _ := randomness.Dispersion(times(t, bursty(0.25, 80_000), 20, 1), 1); index < 2 {
		t.Errorf("burstiness 0.25: index of dispersion %v, want bursts", index)
	}
}

func TestConstantGapsDoNotVary(t *testing.T) {
	for _, rate := range []float64{0.5, 7, 1000, 33_333} {
		if cv := randomness.CV(randomness.Gaps(times(t, stage(Constant, 0, 20_000), rate, 1))); cv >= 1e-4 {
			t.Errorf("rate %v: coefficient of variation %v", rate, cv)
		}
	}
}

// expected is N(t) of a ramp as the shapes define it, written down a second time.
func expected(s runplan.Stage, rate, at float64) float64 {
	over, from := s.Ramp.Seconds(), s.RampFrom
	in, after := min(at, over), max(0, at-over)*rate
	switch s.RampShape {
	case RampExponential:
		q := rate / from
		return from*over/math.Log(q)*(math.Pow(q, in/over)-1) + after
	case RampSteps:
		n, sum := float64(s.RampSteps), 0.0
		for i := range s.RampSteps {
			step := from + (rate-from)*float64(i)/(n-1)
			sum += step * min(over/n, max(0, in-float64(i)*over/n))
		}
		return sum + after
	}
	return from*in + (rate-from)*in*in/(2*over) + after
}

func ramps(arrival string) map[string]runplan.Stage {
	s := stage(arrival, 400, 0)
	return map[string]runplan.Stage{
		"linear from 0":       ramped(s, RampLinear, 200, 0, 0),
		"linear from 20":      ramped(s, RampLinear, 200, 20, 0),
		"linear falling":      ramped(s, RampLinear, 200, 100, 0),
		"exponential":         ramped(s, RampExponential, 200, 0.5, 0),
		"exponential falling": ramped(s, RampExponential, 200, 200, 0),
		"five steps":          ramped(s, RampSteps, 200, 10, 5),
		"steps falling":       ramped(s, RampSteps, 200, 90, 7),
	}
}

func TestConstantArrivalsLieOnTheRamp(t *testing.T) {
	const rate = 60
	for name, s := range ramps(Constant) {
		for i, at := range times(t, s, rate, 1) {
			// half a nanosecond of rounding moves the expected count by less than 1e-6 at these rates
			if n := expected(s, rate, at); math.Abs(n-float64(i)) > 1e-6 {
				t.Fatalf("%s: send %d at %v s, where %v are expected", name, i, at, n)
			}
		}
	}
}

func TestRandomArrivalsFollowTheRamp(t *testing.T) {
	const rate = 60
	for name, s := range ramps(Poisson) {
		for _, seed := range seeds() {
			at := times(t, s, rate, seed)
			// In the time of the expected count a process on a ramp is one of rate 1 without a ramp.
			unit := make([]float64, len(at))
			for i, x := range at {
				unit[i] = expected(s, rate, x)
			}
			if d, p := randomness.KS(randomness.Gaps(unit), randomness.Exponential(1)); p <= 0.01 {
				t.Errorf("%s, seed %d: distance %v, p %v", name, seed, d, p)
			}
			for edge := 20.0; edge <= 400; edge += 20 {
				count, mean := 0.0, expected(s, rate, edge)
				for _, x := range at {
					if x < edge {
						count++
					}
				}
				if math.Abs(count-mean) > 4.5*math.Sqrt(mean)+1 {
					t.Errorf("%s, seed %d: %v sends up to %v s, %v expected", name, seed, count, edge, mean)
				}
			}
		}
	}
}

func TestASecondSeedIsIndependentOfTheFirst(t *testing.T) {
	a, b := randomness.Gaps(times(t, stage(Poisson, 0, 60_001), 1, 7)),
		randomness.Gaps(times(t, stage(Poisson, 0, 60_001), 1, 8))
	sum := 0.0
	for i := range a {
		sum += (a[i] - 1) * (b[i] - 1)
	}
	if r := sum / float64(len(a)); math.Abs(r) > 0.02 {
		t.Errorf("correlation %v between seeds 7 and 8", r)
	}
}
