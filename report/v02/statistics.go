package v02

import (
	"math"
	"slices"

	"bflow.dev/bflow/report"
)

// statistics returns a metric of the stage in units, its values times scale; nil where it was not measured.
func statistics(s *report.Stage, metric, units string, scale float64) *Statistics {
	m, ok := s.Metrics[metric]
	if !ok || !finite(m.Mean) {
		return nil
	}
	at := func(v float64, ok bool) *float64 {
		if v *= scale; !ok || !finite(v) {
			return nil
		}
		return &v
	}
	q := func(name string) *float64 {
		v, ok := m.Quantiles[name]
		return at(v, ok)
	}
	return &Statistics{Units: units, Mean: m.Mean * scale, Stddev: at(m.Stdev, true), Min: at(m.Min, m.Has("min")),
		Max:  at(m.Max, m.Has("max")),
		P0p1: q("p0_1"), P1: q("p1"), P5: q("p5"), P10: q("p10"), P25: q("p25"), P50: q("p50"), P75: q("p75"),
		P90: q("p90"), P95: q("p95"), P99: q("p99"), P99p9: q("p99_9")}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func dropRate(c report.Counts) *Statistics {
	dropped := c.ByStatus[report.StatusDropped]
	if dropped == 0 || c.Total == 0 {
		return nil
	}
	return &Statistics{Units: "fraction", Mean: float64(dropped) / float64(c.Total)}
}

// uses maps what the engine counted during the stage.
func uses(label string, s *report.ServerStage) []ComponentUse {
	if s == nil {
		return nil
	}
	u := ComponentUse{ComponentLabel: label, Aggregate: map[string]Statistics{}}
	if n, ok := s.Counters["preemptions"]; ok {
		u.Aggregate["preemptions"] = Statistics{Units: "count", Mean: n}
	}
	if asked := s.Counters["prefix_cache_queries"]; asked > 0 {
		u.Aggregate["cache_hit_rate"] = Statistics{Units: "fraction", Mean: s.Counters["prefix_cache_hits"] / asked}
	}
	if len(u.Aggregate) == 0 {
		return nil
	}
	return []ComponentUse{u}
}

// additions is everything of ours that the format has no place for, in our own words and units (ms).
func additions(r *report.Report, m *report.Measurement, s *report.Stage) (map[string]any, error) {
	placed := []string{"tokens_in", "tokens_out"}
	for _, l := range latencies() {
		placed = append(placed, l.ours)
	}
	metrics := map[string]report.Metric{}
	for name, metric := range s.Metrics {
		if !slices.Contains(placed, name) {
			metrics[name] = metric
		}
	}
	lowN := map[string][]string{}
	for name, metric := range s.Metrics {
		if len(metric.LowN) > 0 {
			lowN[name] = metric.LowN
		}
	}
	out := map[string]any{
		"schema": report.ReportSchema, "run": r.Run.ID, "attempt": r.Run.Attempt, "plan_hash": r.Plan.Hash,
		"measurement": m.Index, "stage_name": s.Planned.Name, "measured": s.Planned.Measure, "samples": len(m.Samples),
		"valid": s.Valid, "counts": s.Counts, "rates": s.Rates, "metrics": metrics, "low_n": lowN, "checks": s.Checks,
		"window_s": s.WindowS,
	}
	for name, v := range map[string]any{"verdict": s.Verdict, "token_count_source": m.TokenCountSource, "clock": m.Clock} {
		if v != "" {
			out[name] = v
		}
	}
	if s.ErrorRate != nil {
		out["error_rate"] = *s.ErrorRate
	}
	if s.Goodput != nil {
		out["goodput"] = s.Goodput
	}
	if len(s.Gates) > 0 {
		out["gates"] = s.Gates
	}
	if s.Server != nil {
		out["server"] = s.Server
	}
	clean, err := plain(out)
	if err != nil {
		return nil, err
	}
	return clean.(map[string]any), nil
}
