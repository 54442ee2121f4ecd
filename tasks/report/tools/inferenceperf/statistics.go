package inferenceperf

import (
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/report/tools"
)

// source is a stage that numbers are taken from.
type source struct{ *tools.Stage }

// quantileNames are the tool's names of our quantiles.
func quantileNames() map[string]string {
	return map[string]string{"p0_1": "p0.1", "p1": "p1", "p5": "p5", "p10": "p10", "p25": "p25", "p50": "median", "p75": "p75", "p90": "p90",
		"p95": "p95", "p99": "p99", "p99_9": "p99.9"}
}

// merged is a metric over stages, in the unit that factor makes of ours: from the distributions, from the rows where
// those say it, else, for one stage alone, from its summary. nil, which the tool writes for nothing, where there is none.
func merged(stages []source, metric string, factor float64) any {
	d := report.NewDistribution("")
	n, known := tools.Numbers()[metric]
	for _, s := range stages {
		switch {
		case s.Values[metric] != nil:
			d.Merge(s.Values[metric])
		case known && len(s.Rows) > 0:
			for i := range s.Rows {
				if v, ok := n(&s.Rows[i]); ok && s.Rows[i].Status == report.StatusOK {
					d.Add(v)
				}
			}
		}
	}
	if d.N() == 0 && len(stages) == 1 {
		if m, ok := stages[0].Metrics[metric]; ok {
			return summary(m, factor)
		}
	}
	return statistics(d, factor)
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
