package plan

import (
	"math/bits"
	"math/rand/v2"
)

// shuffled returns the numbers below n in an order that depends on seed and round alone: Fisher-Yates from the end,
// drawing from PCG(seed, round). The algorithm is ours, so that a seed keeps its meaning whatever the library does.
func shuffled(n int, seed int64, round int) []int {
	source := rand.NewPCG(uint64(seed), uint64(round))
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := below(source, uint64(i)+1)
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// below draws a number below n, each equally likely: the high word of a product, redrawn where the low word
// says that it would favour small numbers.
func below(source *rand.PCG, n uint64) uint64 {
	for {
		high, low := bits.Mul64(source.Uint64(), n)
		if low >= -n%n {
			return high
		}
	}
}
