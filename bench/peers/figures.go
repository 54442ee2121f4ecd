package main

import (
	"math"

	"bflow.dev/bflow/bench/truth"
)

// better says which of two figures is ahead.
type better int

const (
	more better = iota
	less
	yes // 1 is right, 0 is wrong
)

// figure is a line of the table.
type figure struct {
	goal, name, unit string
	load             string // that it is taken from
	better           better
	// fair is the smallest figure that still counts as better than nothing: below it two clients are even, because the
	// engine and the statistics are no truer than that.
	fair float64
	of   func(c *cell) (float64, bool)
}

func figures() []figure {
	return []figure{
		{"G1", "one-event chats per CPU-second", "/s", "one-event", more, 0, perCPU(requests)},
		{"G3", "paced events per CPU-second, 64 streams", "/s", "streams", more, 0, perCPU(events)},
		{"G5", "TTFT error p50, 64 streams", "ms", "streams", less, 0, ttftError(50)},
		{"G5", "TTFT error p99, 64 streams", "ms", "streams", less, 0, ttftError(99)},
		{"G6", "reported ITL p99 off the true one", "ms", "streams", less, 0.1, itlError},
		{"G6", "ITL gap by gap, p99 error", "ms", "streams", less, 0, gapError},
		{"G7", "lateness at 100/s, p50", "ms", "constant", less, 0, lateness(50)},
		{"G7", "lateness at 100/s, p99", "ms", "constant", less, 0, lateness(99)},
		{"G8", "achieved rate off 100/s", "%", "constant", less, 0.1, rateError},
		{"G8", "requests that are in no count", "", "constant", less, 0, lost},
		{"G9", "CV of the gaps of constant (0)", "", "constant", less, 0.01, constantCV},
		{"G9", "Poisson: gaps are exponential (KS p > 0.01)", "", "poisson", yes, 0, exponential},
		{"G9", "Poisson: dispersion within 3 sigma of 1", "", "poisson", yes, 0, dispersed},
		{"G11", "anonymous memory, 64 streams", "MB", "streams", less, 0, memory},
		{"G12", "start to first request", "ms", "constant", less, 0, startUp},
		{"fail", "100 % errors: all counted, in a summary", "", "http_500", yes, 0, allErrors},
		{"fail", "error event in a 200 stream is an error", "", "error_event", yes, 0, allErrors},
		{"fail", "truncated answer is an error", "", "truncated", yes, 0, allErrors},
		{"fail", "5 tokens instead of 10 are remarked", "", "short_output", yes, 0, noticed},
	}
}

func requests(c *cell) float64 { return float64(len(c.log)) }

func events(c *cell) float64 {
	n := 0
	for _, r := range c.log {
		n += len(r.Events)
	}
	return float64(n)
}

// perCPU divides a count by the processor time between the first arrival and the last: starting and reporting are no
// part of it.
func perCPU(count func(c *cell) float64) func(c *cell) (float64, bool) {
	return func(c *cell) (float64, bool) {
		first, last := c.log[0].Arrival, c.log[0].End
		for _, r := range c.log {
			first, last = min(first, r.Arrival), max(last, r.End)
		}
		used := c.cpu.between(first, last).Seconds()
		return count(c) / used, used > 0
	}
}

func (c *cell) pairs() []truth.Pair {
	pairs, _, err := truth.Join(c.claims.rows, c.log)
	if err != nil {
		return nil
	}
	return truth.Measured(pairs)
}

func ttftError(p float64) func(c *cell) (float64, bool) {
	return func(c *cell) (float64, bool) {
		errs := truth.TTFTErrors(c.pairs())
		return truth.Quantiles(errs, p)[0] / 1e3, len(errs) > 0
	}
}

// itlError compares the p99 of a client's own summary with that of all gaps of answers that were read to the end.
func itlError(c *cell) (float64, bool) {
	var gaps []float64
	for _, r := range c.log {
		for i := 1; i < len(r.Events); i++ {
			gaps = append(gaps, float64(r.Events[i]-r.Events[i-1])/1e6)
		}
	}
	return math.Abs(c.claims.itlP99 - truth.Quantiles(gaps, 99)[0]), c.claims.itlP99 > 0
}

func gapError(c *cell) (float64, bool) {
	if !c.claims.gaps {
		return 0, false
	}
	errs, err := truth.GapErrors(c.pairs())
	return truth.Quantiles(errs, 99)[0] / 1e3, err == nil && len(errs) > 0
}

// lateness is how much later than its place in an even schedule a request arrived. The schedule starts where the most
// punctual request says.
func lateness(p float64) func(c *cell) (float64, bool) {
	return func(c *cell) (float64, bool) {
		at := truth.Arrivals(c.log)
		late, least := make([]float64, len(at)), math.Inf(1)
		for i, t := range at {
			late[i] = 1e3 * (t - float64(i)/c.rate)
			least = min(least, late[i])
		}
		return truth.Quantiles(late, p)[0] - least, len(at) > 1
	}
}

func rateError(c *cell) (float64, bool) {
	at := truth.Arrivals(c.log)
	achieved := float64(len(at)-1) / truth.Spread(at)
	return 100 * math.Abs(achieved/c.rate-1), len(at) > 1
}

func lost(c *cell) (float64, bool) {
	return math.Abs(float64(len(c.log) - c.claims.ok - c.claims.errors - c.claims.cut)), true
}

func constantCV(c *cell) (float64, bool) {
	gaps := truth.Gaps(truth.Arrivals(c.log))
	return truth.CV(gaps), len(gaps) > 1
}

func exponential(c *cell) (float64, bool) {
	return truthValue(truth.KolmogorovSmirnov(truth.Gaps(truth.Arrivals(c.log)), 1/c.rate) > 0.01), len(c.log) > 35
}

// dispersed looks at the counts in windows of a quarter of a second; the index of n windows has the variance 2/n.
func dispersed(c *cell) (float64, bool) {
	index, n := truth.Dispersion(truth.Arrivals(c.log), 0.25)
	return truthValue(math.Abs(index-1) < 3*math.Sqrt(2/float64(n))), n > 10
}

func memory(c *cell) (float64, bool) { return float64(c.memory) / 1e6, c.memory > 0 }

func startUp(c *cell) (float64, bool) {
	first := c.log[0].Arrival
	for _, r := range c.log {
		first = min(first, r.Arrival)
	}
	return float64(first-c.Started) / 1e6, true
}

// allErrors: no answer of an engine that gives no right one may count as right.
func allErrors(c *cell) (float64, bool) {
	return truthValue(c.claims.summary && c.claims.ok == 0 && c.claims.errors > 0), true
}

func noticed(c *cell) (float64, bool) { return truthValue(c.claims.noticedLengths), true }

func truthValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
