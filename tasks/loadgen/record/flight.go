package record

import (
	"math"
	"slices"

	"bflow.dev/bflow/tasks/report"
)

// flight holds the moments at which the number of requests in flight changes: twice the stamp, plus 1 for a rise.
type flight struct{ moments []int64 }

func (f *flight) add(send, end int64) {
	f.moments = append(f.moments, 2*send+1, 2*end)
}

// metric returns the number in flight over [start, end), weighted by time; false for an empty window.
func (f *flight) metric(start, end int64) (report.Metric, bool) {
	if end <= start {
		return report.Metric{}, false
	}
	weights := map[int]float64{} // number in flight -> seconds
	level, from := 0, start
	step := func(at int64) {
		if at = min(max(at, start), end); at > from {
			weights[level] += float64(at-from) / 1e9
			from = at
		}
	}
	slices.Sort(f.moments)
	for _, m := range f.moments {
		step(m >> 1)
		if m&1 == 1 {
			level++
		} else {
			level--
		}
	}
	step(end)
	return weighted(weights), true
}

// weighted summarises levels by the seconds they lasted. N is the number of seconds.
func weighted(weights map[int]float64) report.Metric {
	levels := make([]int, 0, len(weights))
	total := 0.0
	for level, w := range weights {
		levels = append(levels, level)
		total += w
	}
	slices.Sort(levels)
	m := report.Metric{Unit: report.Unit("concurrency"), N: int64(math.Round(total)), Quantiles: map[string]float64{}}
	m.Min, m.Max = float64(levels[0]), float64(levels[len(levels)-1])
	for _, level := range levels {
		m.Sum += float64(level) * weights[level]
	}
	m.Mean = m.Sum / total
	spread := 0.0
	for _, level := range levels {
		spread += (float64(level) - m.Mean) * (float64(level) - m.Mean) * weights[level]
	}
	m.Stdev = math.Sqrt(spread / total)
	for _, q := range report.Quantiles {
		m.Quantiles[q.Name] = quantile(levels, weights, q.P/100*total)
	}
	return m
}

func quantile(levels []int, weights map[int]float64, until float64) float64 {
	for _, level := range levels {
		if until -= weights[level]; until <= 0 {
			return float64(level)
		}
	}
	return float64(levels[len(levels)-1])
}
