package prompt

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"bflow.dev/bflow/runplan"
)

// Purposes: each has a generator of its own, so that a change to one series leaves the others as they were.
const (
	purposeInput uint64 = iota + 1
	purposeOutput
	purposePrefix
	purposeWords
	purposeCorpus
	purposeAdapter
	purposePriority
	purposeImages
)

// draw gives the random numbers of one turn: a pure function of seed, stage, conversation and turn, whatever was drawn
// before. Its generators live on the stack.
type draw struct{ seed, at uint64 }

func newDraw(seed int64, stage uint64, content int64, turn int) draw {
	return draw{seed: mix(uint64(seed)) ^ mix(stage+1), at: mix(uint64(content)+1) + uint64(turn)}
}

func (d draw) generator(purpose uint64) (g rand.PCG) {
	g.Seed(d.seed^mix(purpose), d.at)
	return g
}

// below draws an integer from [0, n), n > 0; its bias is n/2^64.
func below(g *rand.PCG, n uint64) int {
	high, _ := bits.Mul64(g.Uint64(), n)
	return int(high)
}

// unit draws from the open interval (0, 1).
func unit(g *rand.PCG) float64 { return (float64(g.Uint64()>>11) + 0.5) / (1 << 53) }

// normal draws from the standard normal distribution by its inverse: one number makes one number, without rejection.
func normal(g *rand.PCG) float64 { return math.Sqrt2 * math.Erfinv(2*unit(g)-1) }

// length draws a token count of l, at least 1.
func (d draw) length(purpose uint64, l *runplan.Length) int {
	if l.Shape == "fixed" || l.Shape == "" {
		return clamp(int(math.Round(l.Mean)), l)
	}
	g := d.generator(purpose)
	x := l.Mean
	switch l.Shape {
	case "normal":
		x = l.Mean + l.Stdev*normal(&g)
	case "uniform":
		low, high := bounds(l)
		x = float64(low + below(&g, uint64(high-low+1)))
	case "lognormal":
		// Mean and Stdev are those of the lengths, not of their logarithm.
		spread := math.Log(1 + (l.Stdev/l.Mean)*(l.Stdev/l.Mean))
		x = math.Exp(math.Log(l.Mean) - spread/2 + math.Sqrt(spread)*normal(&g))
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

// longest returns a length that hardly any draw of l exceeds.
func longest(l *runplan.Length) int {
	switch {
	case l == nil:
		return 0
	case l.Max > 0:
		return l.Max
	}
	return int(l.Mean + 4*l.Stdev)
}

// prefix draws a bucket by weight and one of its texts.
func (d draw) prefix(buckets []runplan.Prefix) (bucket, index int) {
	g := d.generator(purposePrefix)
	total := 0.0
	for i := range buckets {
		total += buckets[i].Weight
	}
	at := unit(&g) * total
	for i := range buckets {
		if at -= buckets[i].Weight; at < 0 || i == len(buckets)-1 {
			return i, below(&g, uint64(max(1, buckets[i].Count)))
		}
	}
	return 0, 0
}

// choose draws the index of one of the weights; -1 when there is none.
func (d draw) choose(purpose uint64, weights []float64) int {
	if len(weights) == 0 {
		return -1
	}
	total := 0.0
	for _, w := range weights {
		total += w
	}
	g := d.generator(purpose)
	at := unit(&g) * total
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// mix spreads the bits of x.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
