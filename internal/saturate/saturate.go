// Package saturate calculates with durations that stop at the longest one instead of wrapping around.
package saturate

import (
	"math"
	"time"
)

// Seconds returns s seconds.
func Seconds(s float64) time.Duration {
	if s >= math.MaxInt64/1e9 {
		return math.MaxInt64
	}
	return time.Duration(s * 1e9)
}

// Plus returns a + b, where neither is negative.
func Plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Times returns n times d, 0 where one of them is not above 0.
func Times(d time.Duration, n int) time.Duration {
	if n <= 0 || d <= 0 {
		return 0
	}
	if d > math.MaxInt64/time.Duration(n) {
		return math.MaxInt64
	}
	return d * time.Duration(n)
}
