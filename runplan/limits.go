package runplan

import (
	"math"
	"time"
)

// The most that a load may ask for. Above it times in nanoseconds overflow, or requests, streams and words are made one
// by one and never come to an end.
const (
	MostRequests = math.MaxInt32 // of a stage; it also bounds every other number that only counts
	MostAtOnce   = 1_000_000     // requests in flight, or in a second: ten times what one host has ever sent
	MostTokens   = 10_000_000    // of one prompt: ten times what a model reads
	MostImages   = 1_000         // of one request
	MostPixels   = 8_192         // of a side of one
	LongestTime  = 10 * 365 * 24 * time.Hour
)
