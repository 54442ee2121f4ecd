package tools

import (
	"math"
	"slices"

	"bflow.dev/bflow/report"
)

// SetGaps gives a row the gaps between its token events, in ms: their number, their summary and each one. Stamps are
// rounded to us before they are subtracted, so that errors do not add up.
func SetGaps(row *report.Row, gaps []float64) {
	if len(gaps) == 0 {
		return
	}
	events := len(gaps) + 1
	row.Events = &events
	row.Gaps = make([]int32, len(gaps))
	at, sum := int64(0), 0.0
	for i, g := range gaps {
		sum += g
		next := int64(math.Round(min(1e12, max(-1e12, sum)) * 1e3))
		row.Gaps[i] = int32(min(math.MaxInt32, max(math.MinInt32, next-at)))
		at = next
	}
	sorted := slices.Clone(gaps)
	slices.Sort(sorted)
	mean, p50 := sum/float64(len(sorted)), report.Percentile(sorted, 50)
	p99, longest := report.Percentile(sorted, 99), sorted[len(sorted)-1]
	row.ITLMean, row.ITLP50 = &mean, &p50
	row.ITLP99, row.ITLMax = &p99, &longest
}

// GapsMS returns the gaps of a row in ms, nil where they were not recorded.
func GapsMS(row *report.Row) []float64 {
	if len(row.Gaps) == 0 {
		return nil
	}
	out := make([]float64, len(row.Gaps))
	for i, g := range row.Gaps {
		out[i] = float64(g) / 1e3
	}
	return out
}
