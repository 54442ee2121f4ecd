package metrics

import "github.com/prometheus/client_golang/prometheus"

// RunsCollector counts runs when it is asked, so that no count drifts from what there is.
type RunsCollector struct {
	count func() (map[string]int, error)
	desc  *prometheus.Desc
}

var _ prometheus.Collector = (*RunsCollector)(nil)

// NewRunsCollector returns a collector of Runs; count gives the number of runs by state.
func NewRunsCollector(count func() (map[string]int, error)) *RunsCollector {
	return &RunsCollector{count: count, desc: prometheus.NewDesc(Runs, Help(Runs), []string{"state"}, nil)}
}

// Describe implements prometheus.Collector.
func (c *RunsCollector) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect implements prometheus.Collector. Every state has a value, so that a rule sees a zero and no gap.
func (c *RunsCollector) Collect(ch chan<- prometheus.Metric) {
	counts, err := c.count()
	if err != nil {
		ch <- prometheus.NewInvalidMetric(c.desc, err)
		return
	}
	for _, state := range []string{StateQueued, StateRunning, StateStaying, StateReleasing, StateDone} {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(counts[state]), state)
	}
}
