package report

import (
	"math"
	"math/bits"
	"slices"

	"bflow.dev/bflow/report/radix"
)

// buckets of one step of pick.
const pickBits = 11

// pick returns the order statistics of xs, which lie from low to high, at ranks, which ascend from 0 to len(xs)-1; xs
// hold no NaN and keep their order. A sort of all values would cost five times as much: the values are counted into
// buckets, and only the buckets that hold a rank are looked at again.
func pick(xs []float64, low, high float64, ranks []int) []float64 {
	out := make([]float64, len(ranks))
	pickInto(xs, orderKey(low), orderKey(high), ranks, out)
	return out
}

func pickInto(xs []float64, low, high uint64, ranks []int, out []float64) {
	if len(xs) <= 1<<pickBits {
		sorted := slices.Clone(xs)
		radix.Floats(sorted, nil)
		for i, r := range ranks {
			out[i] = sorted[r]
		}
		return
	}
	if low == high {
		for i := range out {
			out[i] = xs[0]
		}
		return
	}
	b := newPickBuckets(xs, low, uint(max(0, bits.Len64(high-low)-pickBits)))
	parts := b.hold(ranks)
	b.fill(xs, parts)
	for _, p := range parts {
		low, high := ends(p.values)
		pickInto(p.values, low, high, p.ranks, out[:len(p.ranks)])
		out = out[len(p.ranks):]
	}
}

// ends are the keys of the smallest and the largest of xs.
func ends(xs []float64) (low, high uint64) {
	low, high = orderKey(xs[0]), orderKey(xs[0])
	for _, x := range xs {
		k := orderKey(x)
		if k < low {
			low = k
		}
		if k > high {
			high = k
		}
	}
	return low, high
}

// orderKey is a number that ascends with x; both zeros have one.
func orderKey(x float64) uint64 {
	b := math.Float64bits(x + 0)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

type pickBuckets struct {
	low    uint64
	shift  uint
	counts [1 << pickBits]int32
}

// part is a bucket that holds some of the ranks, counted from its first value.
type part struct {
	bucket int
	ranks  []int
	values []float64
}

func newPickBuckets(xs []float64, low uint64, shift uint) *pickBuckets {
	b := &pickBuckets{low: low, shift: shift}
	for _, x := range xs {
		b.counts[(orderKey(x)-low)>>shift&(1<<pickBits-1)]++
	}
	return b
}

// hold returns the buckets in which the ranks lie.
func (b *pickBuckets) hold(ranks []int) []part {
	var parts []part
	bucket, before, last := 0, 0, -1
	for _, r := range ranks {
		for r >= before+int(b.counts[bucket]) {
			before += int(b.counts[bucket])
			bucket++
		}
		if bucket != last {
			parts = append(parts, part{bucket: bucket, values: make([]float64, 0, b.counts[bucket])})
			last = bucket
		}
		p := &parts[len(parts)-1]
		p.ranks = append(p.ranks, r-before)
	}
	return parts
}

// fill puts the values of xs that lie in the parts into them.
func (b *pickBuckets) fill(xs []float64, parts []part) {
	var which [1 << pickBits]uint8 // part, counted from 1
	for i, p := range parts {
		which[p.bucket] = uint8(i + 1)
	}
	for _, x := range xs {
		if i := which[(orderKey(x)-b.low)>>b.shift&(1<<pickBits-1)]; i > 0 {
			p := &parts[i-1]
			p.values = append(p.values, x)
		}
	}
}
