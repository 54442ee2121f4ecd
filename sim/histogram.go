package sim

import (
	"math/bits"
	"sync/atomic"
)

// fineHistogram is a log-linear histogram of nanoseconds with a relative error of at most 1/64, safe for one writer and
// any number of readers.
type fineHistogram struct {
	counts [64 * 64]atomic.Int64
	n, max atomic.Int64
}

// slot returns the index of v ≥ 0: its exponent and the six bits after its leading one.
func slot(v int64) int {
	if v < 64 {
		return int(v)
	}
	shift := bits.Len64(uint64(v)) - 7
	return (shift+1)*64 + int(v>>shift) - 64
}

// slotMax returns the largest value of slot i.
func slotMax(i int) int64 {
	if i < 64 {
		return int64(i)
	}
	shift := i/64 - 1
	return (int64(i%64)+65)<<shift - 1
}

func (f *fineHistogram) add(v int64) {
	v = max(v, 0)
	f.counts[slot(v)].Add(1)
	f.n.Add(1)
	if v > f.max.Load() {
		f.max.Store(v)
	}
}

// quantile returns an upper bound of the q-quantile, 0 where there is no value.
func (f *fineHistogram) quantile(q float64) int64 {
	n := f.n.Load()
	rank := int64(q * float64(n))
	for i := range f.counts {
		if rank -= f.counts[i].Load(); rank < 0 {
			return min(slotMax(i), f.max.Load())
		}
	}
	return f.max.Load()
}
