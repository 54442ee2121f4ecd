package report

import "math"

// Histogram is a log-linear histogram: the bucket of a value is its binary exponent and the ten leading bits of its
// mantissa, so a bucket is at most 0.1 % wide and its middle is within 0.05 % of every value in it. Values of zero and
// below share one bucket. Histograms over any ranges can be merged. The zero value is empty.
type Histogram struct {
	zero   uint64
	base   int      // bucket number of counts[0]
	counts []uint64 // grown to the range of the values
}

// mantissaBits that a bucket number drops from the 52 of a float64.
const droppedBits = 42

func bucketOf(x float64) int { return int(math.Float64bits(x) >> droppedBits) }

// bucketLow is the smallest value of bucket b.
func bucketLow(b int) float64 { return math.Float64frombits(uint64(b) << droppedBits) }

// Add adds x, count times.
func (h *Histogram) Add(x float64, count uint64) {
	if !(x > 0) {
		h.zero += count
		return
	}
	h.addBucket(bucketOf(x), count)
}

func (h *Histogram) addBucket(b int, count uint64) {
	switch {
	case len(h.counts) == 0:
		h.base, h.counts = b, make([]uint64, 1)
	case b < h.base:
		grown := make([]uint64, h.base-b+len(h.counts))
		copy(grown[h.base-b:], h.counts)
		h.base, h.counts = b, grown
	case b >= h.base+len(h.counts):
		h.counts = append(h.counts, make([]uint64, b-h.base-len(h.counts)+1)...)
	}
	h.counts[b-h.base] += count
}

// Merge adds every value of o.
func (h *Histogram) Merge(o *Histogram) {
	h.zero += o.zero
	for i, c := range o.counts {
		if c > 0 {
			h.addBucket(o.base+i, c)
		}
	}
}

// N returns the number of values.
func (h *Histogram) N() uint64 {
	n := h.zero
	for _, c := range h.counts {
		n += c
	}
	return n
}

// Percentile returns the middle of the bucket that holds the p-th percentile (p in 0 to 100), 0 when empty.
func (h *Histogram) Percentile(p float64) float64 {
	n := h.N()
	if n == 0 {
		return 0
	}
	rank := uint64(math.Floor(p/100*float64(n-1) + 0.5))
	if rank < h.zero {
		return 0
	}
	rank -= h.zero
	for i, c := range h.counts {
		if rank < c {
			return (bucketLow(h.base+i) + bucketLow(h.base+i+1)) / 2
		}
		rank -= c
	}
	return 0
}

// CountAtMost returns how many values are at most x, those of the bucket of x included.
func (h *Histogram) CountAtMost(x float64) uint64 {
	if x < 0 {
		return 0
	}
	n, last := h.zero, bucketOf(x)
	for i, c := range h.counts {
		if h.base+i > last {
			break
		}
		n += c
	}
	return n
}
