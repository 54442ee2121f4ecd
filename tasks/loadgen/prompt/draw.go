package prompt

import (
	"math"
	"math/rand/v2"

	"bflow.dev/bflow/tasks/runplan"
)

// Purposes: each has a generator of its own, so that a change to one series leaves the others as they were.
const (
	purposeInput uint64 = iota + 1
	purposeOutput
	purposePrefix
	purposeWords
)

// draw holds the random numbers of one turn: a function of seed, stage and turn, whatever was drawn before.
type draw struct{ seed, at uint64 }

func newDraw(seed, stage, at uint64) draw { return draw{seed: mix(seed) ^ mix(stage+1), at: at} }

func (d draw) rng(purpose uint64) *rand.Rand {
	return rand.New(rand.NewPCG(d.seed^mix(purpose), d.at))
}

// length draws a token count of l, at least 1.
func (d draw) length(purpose uint64, l *runplan.Length) int {
	rng := d.rng(purpose)
	var x float64
	switch l.Shape {
	case "normal":
		x = l.Mean + l.Stdev*rng.NormFloat64()
	case "uniform":
		low, high := bounds(l)
		x = float64(low + rng.IntN(high-low+1))
	case "lognormal":
		// Mean and Stdev are those of the lengths, not of their logarithm.
		spread := math.Log(1 + (l.Stdev/l.Mean)*(l.Stdev/l.Mean))
		x = math.Exp(math.Log(l.Mean) - spread/2 + math.Sqrt(spread)*rng.NormFloat64())
	default:
		x = l.Mean
	}
	return clamp(int(math.Round(x)), l)
}

func bounds(l *runplan.Length) (low, high int) {
	low, high = l.Min, l.Max
	if low == 0 {
		low = int(l.Mean)
	}
	if high == 0 {
		high = int(l.Mean)
	}
	return low, max(low, high)
}

func clamp(n int, l *runplan.Length) int {
	if l.Max > 0 {
		n = min(n, l.Max)
	}
	return max(n, l.Min, 1)
}

// prefix draws a bucket by weight and one of its texts.
func (d draw) prefix(buckets []runplan.Prefix) (bucket, index int) {
	rng := d.rng(purposePrefix)
	total := 0.0
	for _, b := range buckets {
		total += b.Weight
	}
	at := rng.Float64() * total
	for i, b := range buckets {
		if at -= b.Weight; at < 0 || i == len(buckets)-1 {
			return i, rng.IntN(max(1, b.Count))
		}
	}
	return 0, 0
}
