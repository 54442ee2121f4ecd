// Package schedule computes when requests are sent: pure arithmetic over seeds and rates, in nanoseconds from the
// start of a stage. It must not read a clock, wait, or know a request.
package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"

	"bflow.dev/bflow/runplan"
)

// Arrivals of an open loop.
const (
	Constant = "constant"
	Poisson  = "poisson"
	Gamma    = "gamma"
)

// Send is one planned send.
type Send struct {
	At    int64 // ns from the start of the stage
	Index int64 // from 0 in the whole schedule, whatever part of it this is: it decides the content
}

// Schedule is a finite or endless series of sends in the order of their times.
type Schedule interface {
	// Next returns the next send; false after the last. It does not allocate.
	Next() (Send, bool)
}

// Open returns the sends of an open-loop stage at rate requests per second: those before the stage's duration, as many
// as its requests, whichever bound is set and comes first; endless without one. The same seed gives the same times on
// every machine of one architecture.
//
// Constant arrivals begin at 0 and are computed each from its index; the first random one comes after a gap. During a
// ramp the sends follow the expected count N(t) of its shape: the i-th event of a process of rate 1 is sent at the
// inverse of N, so one process serves every ramp. After the ramp the rate stays.
func Open(s runplan.Stage, rate float64, seed uint64) (Schedule, error) {
	if !(rate > 0) || math.IsInf(rate, 0) {
		return nil, fmt.Errorf("scheduling stage %q: rate %v is not above 0", s.Name, rate)
	}
	gap, err := gaps(s.Arrival, s.Burstiness, rand.New(rand.NewPCG(seed, 0x6172726976616c73)))
	if err != nil {
		return nil, fmt.Errorf("scheduling stage %q: %w", s.Name, err)
	}
	rise, err := newRise(s, rate)
	if err != nil {
		return nil, fmt.Errorf("scheduling stage %q: %w", s.Name, err)
	}
	b := bounds{duration: int64(s.Duration), requests: int64(s.Requests)}
	switch {
	case gap == nil && rise == nil:
		return &even{bounds: b, rate: rate}, nil
	case rise == nil:
		rise = flat{rate}
	}
	return &open{bounds: b, gap: gap, rise: rise}, nil
}

// bounds end a schedule; 0 does not bind.
type bounds struct {
	duration int64 // ns
	requests int64
	next     int64 // index
}

// admit returns the next send, at ns from the start, unless a bound or the range of the clock is reached.
func (b *bounds) admit(at int64, ok bool) (Send, bool) {
	if !ok || b.requests > 0 && b.next >= b.requests || b.duration > 0 && at >= b.duration {
		return Send{}, false
	}
	s := Send{At: at, Index: b.next}
	b.next++
	return s, true
}

// even is a constant rate without a ramp.
type even struct {
	bounds
	rate float64
}

func (e *even) Next() (Send, bool) { return e.admit(evenly(e.next, e.rate)) }

// evenly returns i*1e9/rate, rounded to the nearest integer: in two floats, of 106 bits together, so that no rate and
// no length of a stage shifts a send by even 1 ns. It is false from 104 days on, where a float skips nanoseconds.
func evenly(i int64, rate float64) (int64, bool) {
	const beyond = 1 << 53
	n := float64(i)
	product := n * 1e9
	lost := math.FMA(n, 1e9, -product)
	quotient := product / rate
	if !(quotient < beyond) {
		return 0, false
	}
	rest := (math.FMA(-quotient, rate, product) + lost) / rate
	whole := math.Round(quotient)
	switch off := (quotient - whole) + rest; {
	case off > 0.5:
		whole++
	case off < -0.5:
		whole--
	}
	return int64(whole), true
}

// open sends the events of a process of rate 1, whose times are mapped by the inverse of the expected count.
type open struct {
	bounds
	gap  func() float64 // nil = every gap is 1 and the first event is at 0
	rise rise
	at   float64 // time of the process of rate 1
	now  int64   // of the send before
}

func (o *open) Next() (Send, bool) {
	if o.gap == nil {
		o.at = float64(o.next)
	} else {
		o.at += o.gap()
	}
	ns := math.Round(o.rise.when(o.at) * 1e9)
	if !(ns < math.MaxInt64) {
		return Send{}, false
	}
	o.now = max(o.now, int64(ns)) // where a ramp meets its end, rounding must not turn the order
	return o.admit(o.now, true)
}
