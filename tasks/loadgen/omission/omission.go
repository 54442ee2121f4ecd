// Package omission computes what a correct load generator must report when the server stands still for a while: the
// analytic side of the test for coordinated omission. It measures nothing.
//
// The server takes TTFT to the first token and E2E to the end of an answer, whatever else it does, and from At on
// stands still for Freeze: nothing is sent, and all that is due later is due later by Freeze. Requests are meant to be
// sent at a rate r, all through a window T; S is the length of the freeze.
//
// Without a cap the requests of the freeze, r·S of them, wait S down to 0, uniformly, and the r·TTFT that were under
// way to their first token wait S. So the longest (1-p)·T seconds of arrivals tell the p-quantile:
//
//	ttft_intended(p) = TTFT + S                          where (1-p)T <= TTFT
//	                 = TTFT + S - ((1-p)T - TTFT)        up to (1-p)T = TTFT + S
//	                 = TTFT                              beyond
//
// A cap of C requests in flight with a queue lets only C of them reach the frozen server; the others wait in the
// client. After the freeze they leave it C per E2E while new ones arrive at r: the load on the slots is rho = r·E2E/C,
// and the queue is empty only S/(1-rho) after the freeze began. All who come until then wait: a request that comes x
// after the beginning waits S - x(1-rho). The waits are as uniform in [0, S] as before, but of r·S/(1-rho) requests:
//
//	ttft_intended(p) = TTFT + S - ((1-p)T - TTFT)(1-rho)
//
// That is a fluid: the slots come free in waves, which moves single requests by up to E2E(1-rho); Play has the waves.
// Latency from the send sees none of it: C requests wait, all others seem to be served at once, and where C/(r·T) is
// below 1-p the quantile does not move at all. That is coordinated omission. With rho >= 1 the queue never empties. A
// cap that drops has C less r·E2E requests wait S and a little less, and the rest of the freeze as dropped requests,
// which have no latency and count as errors.
package omission

import (
	"math"
	"slices"
	"time"
)

// Case is a server that stands still once.
type Case struct {
	Rate   float64       // requests per second, evenly spaced from 0
	Window time.Duration // requests meant to be sent from its end on do not count
	At     time.Duration // begin of the freeze
	Freeze time.Duration
	TTFT   time.Duration // of a request that meets no freeze
	E2E    time.Duration // of a request that meets no freeze, at least TTFT
	Cap    int           // requests in flight; 0 = none
	Drop   bool          // what the cap keeps out is dropped, not queued
}

// Request is what becomes of one, in ns from the start.
type Request struct {
	Intended, Send, First, End int64
	Dropped                    bool // it has no other stamps
}

// Play returns what becomes of requests that are meant to be sent at the given times, in order.
func (c Case) Play(intended []int64) []Request {
	out := make([]Request, 0, len(intended))
	var ends []int64 // of those sent, in order: the server keeps it
	for _, at := range intended {
		r := Request{Intended: at, Send: at}
		if n := len(ends) - c.Cap; c.Cap > 0 && n >= 0 && ends[n] > at {
			r.Send, r.Dropped = ends[n], c.Drop
		}
		if r.Dropped {
			r.Send = 0
		} else {
			arrived := c.modelTime(r.Send)
			r.First, r.End = c.realTime(arrived+int64(c.TTFT)), c.realTime(arrived+int64(c.E2E))
			ends = append(ends, r.End)
		}
		out = append(out, r)
	}
	return out
}

// modelTime is the server's time, which stands still in the freeze.
func (c Case) modelTime(at int64) int64 {
	if at <= int64(c.At) {
		return at
	}
	return max(int64(c.At), at-int64(c.Freeze))
}

// realTime is when the server does what is due at the model time at.
func (c Case) realTime(at int64) int64 {
	if at < int64(c.At) {
		return at
	}
	return at + int64(c.Freeze)
}

// Constant returns the requests of the case's own rate and window.
func (c Case) Constant() []Request {
	var intended []int64
	for i := 0; ; i++ {
		at := int64(math.Round(float64(i) * 1e9 / c.Rate))
		if at >= int64(c.Window) {
			return c.Play(intended)
		}
		intended = append(intended, at)
	}
}

// Latencies returns the times to the first token in ns, from the intended send and from the real one, of all requests
// that were not dropped.
func Latencies(requests []Request) (fromIntended, fromSend []float64) {
	for _, r := range requests {
		if !r.Dropped {
			fromIntended = append(fromIntended, float64(r.First-r.Intended))
			fromSend = append(fromSend, float64(r.First-r.Send))
		}
	}
	return fromIntended, fromSend
}

// Percentile returns the p-th percentile, 0 to 100, by linear interpolation between order statistics; NaN of nothing.
func Percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := p / 100 * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-1)
	j := min(i+1, len(sorted)-1)
	return sorted[i] + (at-float64(i))*(sorted[j]-sorted[i])
}

// TTFTIntended returns the p-th percentile of the time to the first token from the intended send, request by request:
// the value to compare a measurement with.
func (c Case) TTFTIntended(p float64) time.Duration {
	values, _ := Latencies(c.Constant())
	return time.Duration(math.Round(Percentile(values, p)))
}

// Formula returns the same by the formula above; false where that does not hold: with dropped requests, with slots that
// never empty the queue, and where it is not empty at the end of the window.
func (c Case) Formula(p float64) (time.Duration, bool) {
	rho := 0.0
	if c.Cap > 0 {
		rho = c.Rate * c.E2E.Seconds() / float64(c.Cap)
	}
	affected := c.Freeze.Seconds() / (1 - rho)
	if c.Drop && c.Cap > 0 || rho >= 1 || c.At < c.TTFT || c.At.Seconds()+affected > c.Window.Seconds() {
		return 0, false
	}
	tail := (1-p/100)*c.Window.Seconds() - c.TTFT.Seconds()
	wait := c.Freeze.Seconds() - max(0, tail)*(1-rho)
	return c.TTFT + time.Duration(max(0, wait)*1e9), true
}
