package assemble

import (
	"bflow.dev/bflow/report"
)

// curves are the metrics whose distribution the report keeps as a curve.
func curves() []string {
	return []string{"ttft", "ttft_intended", "itl", "tpot", "e2e", "e2e_intended"}
}

// pooledValues merges a metric of a stage over the samples; nil where no distribution was stored.
func (m *measured) pooledValues(stage int, metric string) *report.Distribution {
	var all *report.Distribution
	for _, s := range m.stages {
		if s.Stage != stage {
			continue
		}
		d, err := m.values.Read(report.DistributionKey{Sample: s.Sample, Stage: s.Stage, Metric: metric})
		switch {
		case err != nil:
			m.noteMissing(err)
		case d == nil:
		case all == nil:
			all = d
		default:
			all.Merge(d)
		}
	}
	return all
}

// pooledMetrics summarises the merged distributions. Without stored distributions a single sample speaks for itself;
// several cannot be merged, and their metrics are absent.
func (m *measured) pooledMetrics(samples []report.Stage) (map[string]report.Metric, map[string][]report.Point) {
	metrics, cdf := map[string]report.Metric{}, map[string][]report.Point{}
	if len(samples) == 1 {
		for name, metric := range samples[0].Metrics {
			metrics[name] = metric
		}
	}
	for _, name := range report.MetricNames() {
		d := m.pooledValues(samples[0].Stage, name)
		if d == nil {
			continue
		}
		if metric, ok := d.Metric(); ok {
			metrics[name] = metric
		}
	}
	for _, name := range curves() {
		if d := m.pooledValues(samples[0].Stage, name); d != nil {
			cdf[name] = curve(d)
		}
	}
	return metrics, cdf
}

// curve returns the distribution at every percent and, where they carry weight, in the tails.
func curve(d *report.Distribution) []report.Point {
	var out []report.Point
	at := func(p float64) {
		if v, ok := d.Percentile(p); ok {
			out = append(out, report.Point{v, p / 100})
		}
	}
	at(0)
	for p := 1; p <= 99; p++ {
		at(float64(p))
	}
	for _, p := range []float64{99.5, 99.9, 99.99} {
		if !report.LowN(d.N(), p) {
			at(p)
		}
	}
	at(100)
	return out
}
