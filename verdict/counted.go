package verdict

import (
	"slices"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// Counted returns the latencies of a stage by which it is judged and shown: those of its objectives, and the headlines.
// Instead of a quantile with too few values beyond it the highest below it counts that has enough.
func Counted(slo *runplan.SLO, r *report.StageResult) []report.Number {
	var out []report.Number
	add := func(n report.Number) {
		m, ok := r.Metrics[n.Metric]
		if !ok {
			return
		}
		if n.Quantile, ok = m.Reliable(n.Quantile); ok && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	for _, n := range report.Headlines() {
		add(n)
	}
	if slo == nil {
		return out
	}
	gated := func(metric, quantile string) { // a late read is in both, and looked for in the first
		add(report.Number{Metric: metric, Quantile: quantile})
		add(report.Number{Metric: judged(metric), Quantile: quantile})
	}
	for metric, limits := range slo.Latency {
		for quantile := range limits {
			gated(metric, quantile)
		}
	}
	if g := slo.Goodput; g != nil { // requests are judged one by one
		for metric, limit := range map[string]runplan.Duration{"ttft": g.TTFT, "tpot": g.TPOT, "e2e": g.E2E} {
			for _, quantile := range []string{"p50", "p90", "p95", "p99"} {
				if limit > 0 {
					gated(metric, quantile)
				}
			}
		}
	}
	return out
}
