package guidellm

import (
	"math"
	"slices"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// percentiles are the tool's names: p001 is 0.1 %, p01 1 %, p999 99.9 %.
func percentiles() []struct {
	name, native string
	share        float64
} {
	return []struct {
		name, native string
		share        float64
	}{{"p001", "p0_1", .001}, {"p01", "p1", .01}, {"p05", "p5", .05}, {"p10", "p10", .1}, {"p25", "p25", .25},
		{"p50", "p50", .5}, {"p75", "p75", .75}, {"p90", "p90", .9}, {"p95", "p95", .95}, {"p99", "p99", .99},
		{"p999", "p99_9", .999}}
}

// summary is a distribution as the tool writes it, in its order.
type summary struct {
	Mean        float64            `json:"mean" need:"yes"`
	Median      float64            `json:"median"`
	Mode        float64            `json:"mode"`
	Variance    float64            `json:"variance"`
	StdDev      float64            `json:"std_dev" need:"yes"`
	Min         float64            `json:"min" need:"yes"`
	Max         float64            `json:"max" need:"yes"`
	Count       int64              `json:"count" need:"yes"`
	TotalSum    float64            `json:"total_sum" need:"yes"`
	Percentiles map[string]float64 `json:"percentiles" need:"yes"`
}

// weighted is a value and how often it counts.
type weighted struct{ value, weight float64 }

// summarize follows the tool: a percentile is the lowest value at which the distribution reaches it, and the mode is
// the lowest of the values with the greatest weight. Without values all is zero, which the tool always writes.
func summarize(xs []weighted) summary {
	s := summary{Percentiles: map[string]float64{}}
	slices.SortFunc(xs, func(a, b weighted) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	})
	total := 0.0
	for _, x := range xs {
		total += x.weight
		s.TotalSum += x.value * x.weight
	}
	if len(xs) > 0 && total > 0 {
		s.moments(xs, total)
		s.Min, s.Max, s.Count = xs[0].value, xs[len(xs)-1].value, int64(math.Round(total))
	}
	for _, p := range percentiles() {
		s.Percentiles[p.name] = reach(xs, p.share*total)
	}
	s.Median = s.Percentiles["p50"]
	return s
}

func (s *summary) moments(xs []weighted, total float64) {
	s.Mean = s.TotalSum / total
	best, run := 0.0, 0.0
	for i, x := range xs {
		s.Variance += (x.value - s.Mean) * (x.value - s.Mean) * x.weight / total
		if i > 0 && xs[i-1].value == x.value {
			run += x.weight
		} else {
			run = x.weight
		}
		if run > best {
			best, s.Mode = run, x.value
		}
	}
	s.StdDev = math.Sqrt(s.Variance)
}

// reach returns the lowest value at which the weights so far are at least want, 0 without values.
func reach(sorted []weighted, want float64) float64 {
	sum := 0.0
	for _, x := range sorted {
		if sum += x.weight; sum >= want-1e-9 {
			return x.value
		}
	}
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)-1].value
}

// fromMetric is a summary of which only ours is known. What neither has is the nearest that is known, because the
// tool has no word for absent.
func fromMetric(m report.Metric, factor float64) summary {
	s := summary{Mean: m.Mean * factor, Variance: m.Stdev * m.Stdev * factor * factor, StdDev: m.Stdev * factor,
		Min: m.Min * factor, Max: m.Max * factor, Count: m.N, TotalSum: m.Sum * factor, Percentiles: map[string]float64{}}
	for _, p := range percentiles() {
		v, ok := m.Quantiles[p.native]
		if !ok {
			v = m.Mean
		}
		s.Percentiles[p.name] = v * factor
	}
	s.Median = s.Percentiles["p50"]
	s.Mode = s.Median
	return s
}

// constant is a rate of which only the mean has a meaning.
func constant(v float64, n int64) summary {
	return fromMetric(report.Metric{Mean: v, Min: v, Max: v, N: n, Sum: v * float64(n)}, 1)
}

// statuses are the tool's words for what became of a request, in its order.
func statuses() []string { return []string{"successful", "errored", "incomplete", "total"} }

// statusOf sorts a row under one of them; "" for one that the tool never makes: a request that was not sent.
func statusOf(r *report.Row) string {
	switch r.Status {
	case report.StatusOK:
		return "successful"
	case report.StatusCut, report.StatusCancelled:
		return "incomplete"
	case report.StatusDropped:
		return ""
	}
	return "errored"
}

// byStatus are the requests of a stage under each status.
func byStatus(all *tools.Requests) map[string]*tools.Requests {
	out := map[string]*tools.Requests{"total": all.Only(func(r *report.Row) bool { return statusOf(r) != "" })}
	for _, status := range statuses()[:3] {
		out[status] = all.Only(func(r *report.Row) bool { return statusOf(r) == status })
	}
	return out
}

// values appends the numbers of requests with their weights to out; one is the weight where none is given.
func values(out []weighted, of *tools.Requests, value, weight tools.Number) []weighted {
	out = slices.Grow(out, of.Len())
	for r := range of.Numbers() {
		v, ok := value(r)
		w := 1.0
		if ok && weight != nil {
			w, ok = weight(r)
		}
		if ok && w > 0 {
			out = append(out, weighted{v, w})
		}
	}
	return out
}
