package loadgen

import (
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/verdict"
)

// breached says whether a stage misses an objective of slo for certain: where the data cannot decide, the load goes on.
func breached(slo *runplan.SLO, r *report.StageResult, values func(metric string) *report.Distribution) bool {
	e := verdict.Evidence{
		Stage:           report.Stage{StageResult: *r},
		Values:          values,
		OutputPerSecond: outputPerSecond(r),
	}
	for _, g := range verdict.Gates(slo, e) {
		if g.Verdict == verdict.Fail {
			return true
		}
	}
	return false
}

// values returns the distributions of a stage; one that cannot be read back decides nothing.
func (m *measurement) values(r *report.StageResult) func(metric string) *report.Distribution {
	return func(metric string) *report.Distribution {
		d, err := m.files.Values.Read(report.DistributionKey{Sample: r.Sample, Stage: r.Stage, Metric: metric})
		if err != nil {
			m.note("%v", err)
		}
		return d
	}
}

// outputPerSecond returns the output tokens of each whole second of the window.
func outputPerSecond(r *report.StageResult) []float64 {
	var out []float64
	for _, s := range r.WindowSeries() {
		out = append(out, float64(s.TokensOut))
	}
	return out
}
