package schedule

import (
	"fmt"
	"math"
	"sort"

	"bflow.dev/bflow/runplan"
)

// Shapes of a ramp from rate r0 to r1 over T, and the expected count N(t) of sends up to t.
const (
	RampLinear      = "linear"      // N(t) = r0 t + (r1-r0) t²/2T
	RampExponential = "exponential" // N(t) = r0 T/ln q (q^(t/T) - 1), q = r1/r0
	// even steps of equal length: the first at r0, the last at r1; from r0 = 0 the first is at r1/steps
	RampSteps = "steps"
)

// maxSteps bounds the table of a stepped ramp.
const maxSteps = 100_000

// rise is the inverse of an expected count.
type rise interface {
	// when returns the time in seconds at which n sends are expected.
	when(n float64) float64
}

// flat is a constant rate.
type flat struct{ rate float64 }

func (f flat) when(n float64) float64 { return n / f.rate }

// newRise returns the rise of a stage at rate requests per second, nil without a ramp.
func newRise(s runplan.Stage, rate float64) (rise, error) {
	over, from := s.Ramp.Seconds(), s.RampFrom
	if over <= 0 {
		return nil, nil
	}
	if !(from >= 0) || math.IsInf(from, 0) {
		return nil, fmt.Errorf("rampFrom %v is not a rate", from)
	}
	switch s.RampShape {
	case "", RampLinear:
		return &ramp{over: over, count: (from + rate) / 2 * over, rate: rate,
			during: linear{from: from, slope: (rate - from) / over}}, nil
	case RampExponential:
		if from == 0 {
			return nil, fmt.Errorf("an exponential ramp needs rampFrom above 0: from nothing it never rises")
		}
		if from == rate {
			return nil, nil
		}
		growth := math.Log(rate/from) / over
		return &ramp{over: over, count: (rate - from) / growth, rate: rate, during: growing{from: from, growth: growth}}, nil
	case RampSteps:
		if s.RampSteps < 1 || s.RampSteps > maxSteps {
			return nil, fmt.Errorf("rampSteps %d is not between 1 and %d", s.RampSteps, maxSteps)
		}
		during := newSteps(from, rate, over, s.RampSteps)
		return &ramp{over: over, count: during.counts[s.RampSteps], rate: rate, during: during}, nil
	}
	return nil, fmt.Errorf("rampShape %q is not one of linear, exponential, steps", s.RampShape)
}

// ramp is a rise for a time, then a constant rate.
type ramp struct {
	over   float64 // seconds
	count  float64 // sends expected during the ramp
	rate   float64 // after it
	during rise
}

func (r *ramp) when(n float64) float64 {
	if n < r.count {
		return min(r.during.when(n), r.over)
	}
	return r.over + (n-r.count)/r.rate
}

// linear solves n = from t + slope t²/2 for t, in the form that loses no digits where the slope is small.
type linear struct{ from, slope float64 }

func (l linear) when(n float64) float64 {
	if n == 0 {
		return 0 // where the ramp begins at nothing, the quotient below is 0/0
	}
	return 2 * n / (l.from + math.Sqrt(max(0, l.from*l.from+2*l.slope*n)))
}

// growing solves n = from/growth (e^(growth t) - 1) for t.
type growing struct{ from, growth float64 }

func (g growing) when(n float64) float64 { return math.Log1p(n*g.growth/g.from) / g.growth }

// steps is piecewise linear.
type steps struct {
	length float64   // of one, seconds
	rates  []float64 // of each
	counts []float64 // expected before each, and at the end
}

func newSteps(from, to, over float64, n int) *steps {
	s := &steps{length: over / float64(n), rates: make([]float64, n), counts: make([]float64, n+1)}
	for i := range n {
		s.rates[i] = stepRate(from, to, i, n)
		s.counts[i+1] = s.counts[i] + s.rates[i]*s.length
	}
	return s
}

func stepRate(from, to float64, i, n int) float64 {
	switch {
	case from == 0:
		return to * float64(i+1) / float64(n)
	case n == 1:
		return from
	}
	return from + (to-from)*float64(i)/float64(n-1)
}

func (s *steps) when(n float64) float64 {
	i := sort.Search(len(s.rates)-1, func(i int) bool { return s.counts[i+1] > n })
	return float64(i)*s.length + (n-s.counts[i])/s.rates[i]
}
