package inferenceperf

import (
	"iter"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// totals are the numbers over stages of a measurement.
type totals struct {
	stages []*tools.Stage
	err    error // of a distribution that cannot be read
}

// quantileNames are the tool's names of our quantiles.
func quantileNames() map[string]string {
	return map[string]string{"p0_1": "p0.1", "p1": "p1", "p5": "p5", "p10": "p10", "p25": "p25", "p50": "median", "p75": "p75", "p90": "p90",
		"p95": "p95", "p99": "p99", "p99_9": "p99.9"}
}

// merged is a metric over the stages, in the unit that factor makes of ours: from the distributions, from the requests
// where those say it, else, for one stage alone, from its summary. nil, which the tool writes for nothing, where there is
// none.
func (t *totals) merged(metric string, factor float64) any {
	d := report.NewDistribution("")
	n, known := tools.Numbers()[metric]
	for _, s := range t.stages {
		values, err := s.Distribution(metric)
		switch {
		case err != nil:
			t.err = err
		case values != nil && d.N() == 0:
			d = values
		case values != nil:
			d.Merge(values)
		case known:
			for r := range s.Requests.Numbers() {
				if v, ok := n(r); ok && r.Status == report.StatusOK {
					d.Add(v)
				}
			}
		}
	}
	if d.N() == 0 && len(t.stages) == 1 {
		if m, ok := t.stages[0].Metrics[metric]; ok {
			return summary(m, factor)
		}
	}
	return statistics(d, factor)
}

// requests yields the numbers of the requests of all stages.
func (t *totals) requests() iter.Seq[*report.Row] {
	return func(yield func(*report.Row) bool) {
		for _, s := range t.stages {
			for r := range s.Requests.Numbers() {
				if !yield(r) {
					return
				}
			}
		}
	}
}

func statistics(d *report.Distribution, factor float64) any {
	m, ok := d.Metric()
	if !ok {
		return nil
	}
	return summary(m, factor)
}

func summary(m report.Metric, factor float64) object {
	out := object{"mean": m.Mean * factor}
	if m.Has("min") && m.Has("max") {
		out["min"], out["max"] = m.Min*factor, m.Max*factor
	}
	for ours, theirs := range quantileNames() {
		if v, ok := m.Quantiles[ours]; ok {
			out[theirs] = v * factor
		}
	}
	return out
}
