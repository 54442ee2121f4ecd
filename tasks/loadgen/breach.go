package loadgen

import (
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/runplan"
	"bflow.dev/bflow/tasks/verdict"
)

// breached says whether a stage misses an objective of slo for certain: where the data cannot decide, the load goes on.
func breached(slo *runplan.SLO, r *report.StageResult, dists map[string]*report.Distribution) bool {
	e := verdict.Evidence{
		Stage:           report.Stage{StageResult: *r},
		Values:          func(metric string) *report.Distribution { return dists[metric] },
		OutputPerSecond: outputPerSecond(r),
	}
	for _, g := range verdict.Gates(slo, e) {
		if g.Verdict == verdict.Fail {
			return true
		}
	}
	return false
}

// outputPerSecond returns the output tokens of each whole second of the window.
func outputPerSecond(r *report.StageResult) []float64 {
	var out []float64
	for i, s := range r.Series {
		from := r.StartNS + int64(i)*1e9
		if from >= r.Window.StartNS && from+1e9 <= r.Window.EndNS {
			out = append(out, float64(s.TokensOut))
		}
	}
	return out
}
