// Package radix sorts numbers in linear time: it sorts a distribution of a million latencies in tens of milliseconds
// instead of hundreds. It must not know what the numbers mean.
package radix

import (
	"math/bits"
	"slices"
	"unsafe"
)

// digit is the width of a pass in bits: 2048 counters stay in the first cache.
const digit = 11

// few is the number of values up to which a comparison sort is as fast.
const few = 512

// Sort sorts keys in ascending order. scratch is overwritten where it has room for all keys; without, it is allocated.
func Sort(keys, scratch []uint64) {
	if len(keys) <= few {
		slices.Sort(keys)
		return
	}
	if len(scratch) < len(keys) {
		scratch = make([]uint64, len(keys))
	}
	varying, sorted := uint64(0), true
	for i, k := range keys {
		varying |= k ^ keys[0]
		sorted = sorted && (i == 0 || keys[i-1] <= k)
	}
	if sorted {
		return
	}
	from, to := keys, scratch[:len(keys)]
	for shift := bits.TrailingZeros64(varying); shift < 64 && varying>>shift != 0; shift += digit {
		if varying>>shift&(1<<digit-1) == 0 {
			continue
		}
		pass(from, to, uint(shift))
		from, to = to, from
	}
	if &from[0] != &keys[0] {
		copy(keys, from)
	}
}

// pass puts the keys into the order of one digit, those of one digit in the order in which they come.
func pass(from, to []uint64, shift uint) {
	var place [1 << digit]uint32
	for _, k := range from {
		place[k>>shift&(1<<digit-1)]++
	}
	at := uint32(0)
	for i, n := range place {
		place[i] = at
		at += n
	}
	for _, k := range from {
		p := &place[k>>shift&(1<<digit-1)]
		to[*p] = k
		*p++
	}
}

// Floats sorts xs, which hold no NaN, in ascending order; scratch as for Sort.
func Floats(xs, scratch []float64) {
	if len(xs) <= few {
		slices.Sort(xs)
		return
	}
	keys := words(xs)
	for i, k := range keys {
		keys[i] = k ^ (uint64(int64(k)>>63) | 1<<63) // ascending as integers
	}
	Sort(keys, words(scratch))
	for i, k := range keys {
		keys[i] = k ^ (uint64(int64(^k)>>63) | 1<<63)
	}
}

// words are the bits of xs, in place.
func words(xs []float64) []uint64 {
	if len(xs) == 0 {
		return nil
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(xs))), len(xs))
}

// Stamp is x as a key that sorts as x does.
func Stamp(x int64) uint64 { return uint64(x) ^ 1<<63 }

// Unstamp is the number whose key is k.
func Unstamp(k uint64) int64 { return int64(k ^ 1<<63) }
