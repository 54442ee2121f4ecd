package inferenceperf

import (
	"iter"
	"slices"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// totals are the numbers over stages of a measurement.
type totals struct {
	stages      []*tools.Stage
	percentiles []float64 // nil = all
	err         error     // of a distribution that cannot be read
}

// merged is a metric over the stages, in the unit that factor makes of ours: from the distributions, from the requests
// where those say it, else, for one stage alone, from its summary. nil, which the tool writes as null, where there is
// none.
func (t *totals) merged(metric string, factor float64) values {
	d := report.NewDistribution("")
	n, known := tools.Numbers()[metric]
	for _, s := range t.stages {
		have, err := s.Distribution(metric)
		switch {
		case err != nil:
			t.err = err
		case have != nil && d.N() == 0:
			d = have
		case have != nil:
			d.Merge(have)
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
			return t.valuesOf(m, factor)
		}
	}
	return t.statistics(d, factor)
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

func (t *totals) statistics(d *report.Distribution, factor float64) values {
	m, ok := d.Metric()
	if !ok {
		return nil
	}
	return t.valuesOf(m, factor)
}

// valuesOf turns a metric into statistics with the percentiles that were asked for, each multiplied by factor.
func (t *totals) valuesOf(m report.Metric, factor float64) values {
	v := valuesOf(m, factor)
	if t.percentiles == nil {
		return v
	}
	for _, name := range quantileNames() {
		if !slices.ContainsFunc(t.percentiles, func(p float64) bool { return percentileName(p) == name }) {
			delete(v, name)
		}
	}
	return v
}
