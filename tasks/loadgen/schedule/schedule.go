// Package schedule computes when requests are sent: pure arithmetic over seeds and rates.
// It must not read a clock, wait, or know a request.
package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"bflow.dev/bflow/tasks/runplan"
)

// Arrivals of an open loop.
const (
	Constant = "constant"
	Poisson  = "poisson"
	Gamma    = "gamma"
)

// Schedule is a finite or endless series of send times.
type Schedule interface {
	// Next returns the next send time as the distance from the start of the stage; false after the last.
	Next() (time.Duration, bool)
}

// Open returns the send times of an open-loop stage at rate requests per second: those before the stage's duration,
// as many as its requests, whichever bound is set and comes first. The same seed gives the same times.
func Open(s runplan.Stage, rate float64, seed uint64) (Schedule, error) {
	if !(rate > 0) || math.IsInf(rate, 0) {
		return nil, fmt.Errorf("scheduling stage %q: rate %v is not above 0", s.Name, rate)
	}
	gap, err := gaps(s.Arrival, s.Burstiness, rand.New(rand.NewPCG(seed, 0x6172726976616c73)))
	if err != nil {
		return nil, fmt.Errorf("scheduling stage %q: %w", s.Name, err)
	}
	count := &ramp{rate: rate, over: s.Ramp.Seconds()}
	return &open{gap: gap, inverse: count.inverse, regular: regular(s.Arrival), duration: s.Duration.D(), requests: s.Requests}, nil
}

func regular(arrival string) bool { return arrival == "" || arrival == Constant }

// open sends the events of a process of rate 1, whose times are mapped by the inverse of the expected count: that turns
// one process into every ramp.
type open struct {
	gap      func() float64
	inverse  func(n float64) float64 // expected count to seconds
	regular  bool                    // the first event is at 0, not after a gap
	at       float64                 // time of the process of rate 1
	sent     int
	duration time.Duration
	requests int
}

func (o *open) Next() (time.Duration, bool) {
	if o.requests > 0 && o.sent >= o.requests {
		return 0, false
	}
	if o.sent > 0 || !o.regular {
		o.at += o.gap()
	}
	t := time.Duration(math.Round(o.inverse(o.at) * 1e9))
	if o.duration > 0 && t >= o.duration {
		return 0, false
	}
	o.sent++
	return t, true
}

// gaps returns the gaps of a process of rate 1.
func gaps(arrival string, burstiness float64, rng *rand.Rand) (func() float64, error) {
	switch arrival {
	case "", Constant:
		return func() float64 { return 1 }, nil
	case Poisson:
		return func() float64 { return -math.Log(1 - rng.Float64()) }, nil
	case Gamma:
		if burstiness <= 0 {
			burstiness = 1
		}
		return func() float64 { return gamma(rng, burstiness) / burstiness }, nil
	}
	return nil, fmt.Errorf("arrival %q is not one of constant, poisson, gamma", arrival)
}

// gamma draws from the gamma distribution of the given shape and scale 1, by the squeeze of Marsaglia and Tsang.
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

// ramp is the expected count of requests when the rate rises evenly from 0 to rate over so many seconds and stays.
type ramp struct {
	rate float64
	over float64 // seconds, 0 = at once
}

// inverse returns the time in seconds at which n requests are expected.
func (r *ramp) inverse(n float64) float64 {
	rising := r.rate * r.over / 2
	if n < rising {
		return math.Sqrt(2 * n * r.over / r.rate)
	}
	return r.over + (n-rising)/r.rate
}

// SlotStart returns when slot j of n closed-loop slots starts: evenly over the ramp.
func SlotStart(ramp time.Duration, j, n int) time.Duration {
	return time.Duration(float64(ramp) * float64(j) / float64(n))
}
