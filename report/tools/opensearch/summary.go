package opensearch

import (
	"fmt"
	"math"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// summary is one measured stage of one sample.
func summary(run tools.Run, m *tools.Measurement, s *tools.Stage, of identity) object {
	r := run.Report
	_, model := tools.Target(r)
	rate := max(s.Rate, s.Planned.Rate)
	c := s.Counts.ByStatus
	failed := c[report.StatusFailed] + c[report.StatusTimeout] + c[report.StatusEmpty] + c[report.StatusDropped]
	doc := object{"doc_type": "summary", "schema": Schema, "uuid": of.uuid, "job_name": of.job, "sample": fmt.Sprint(s.Sample), "sample_index": s.Sample,
		"timestamp": timestamp(s.StartNS), "strategy": strategy(s), "rate": int(rate), "rate_rps": rate, "concurrency": s.Planned.Concurrency,
		"stage": s.Planned.Name, "stage_index": of.stage, "total_requests": s.Counts.Total, "successful_requests": c[report.StatusOK],
		"errored_requests": failed, "incomplete_requests": c[report.StatusCut] + c[report.StatusCancelled], "backend_model": model,
		"harness": m.Tool, "attempt": r.Run.Attempt, "verdict": s.Verdict, "valid": s.Valid, "invalid_reasons": append([]string{}, s.InvalidReasons...),
		"token_count_source": m.TokenCountSource, "exported_by": tools.ExportedBy}
	lengths(doc, m, s)
	surroundings(doc, run, m)
	if s.ErrorRate != nil {
		doc["error_rate"] = *s.ErrorRate
	}
	if g := s.Goodput; g != nil {
		doc["goodput_rps"], doc["slo_attainment"] = g.RequestsPerS, g.Attainment
	}
	latencies(doc, s)
	rates(doc, s)
	return doc
}

func strategy(s *tools.Stage) string {
	switch {
	case s.Planned.Shape == "open" && s.Planned.Arrival != "":
		return s.Planned.Arrival
	case s.Planned.Shape == "closed":
		return "concurrent"
	}
	return s.Planned.Shape
}

// lengths are the asked ones as text, the way existing dashboards have them, and the measured ones as numbers.
func lengths(doc object, m *tools.Measurement, s *tools.Stage) {
	if l := m.Plan.Data.Input; l != nil {
		doc["prompt_tokens"] = fmt.Sprintf("%.0f", l.Mean)
	}
	if l := m.Plan.Data.Output; l != nil {
		doc["output_tokens"] = fmt.Sprintf("%.0f", l.Mean)
	}
	for field, metric := range map[string]string{"tokens_in_mean": "tokens_in", "tokens_out_mean": "tokens_out"} {
		if v, ok := s.Metrics[metric]; ok {
			doc[field] = v.Mean
		}
	}
}

func surroundings(doc object, run tools.Run, m *tools.Measurement) {
	r := run.Report
	if m.ToolVersion != "" {
		doc["harness_version"] = m.ToolVersion
	}
	if e := r.Environment.Engine; e != nil && e.Kind != "" {
		doc["engine"] = e.Kind
	}
	if r.Plan == nil {
		return
	}
	doc["plan_hash"] = r.Plan.Hash
	if gpu, n := report.GPUs(r.Plan); n > 0 {
		doc["gpu"], doc["gpus"] = strings.TrimSpace(gpu), n
	}
}

// latencies: what the dashboards call itl is our tpot weighted by tokens, and their time per output token is
// (last - first)/n.
func latencies(doc object, s *tools.Stage) {
	over := func(metric string, weight func(n int) float64) (report.Metric, bool) { return weigh(s, metric, weight) }
	plain := func(metric string) (report.Metric, bool) { m, ok := s.Metrics[metric]; return m, ok }
	put := func(prefix, suffix string, m report.Metric, ok bool, parts ...string) {
		for _, part := range parts {
			if v, has := value(m, part); ok && has {
				doc[prefix+"_"+part+"_"+suffix] = v
			}
		}
	}
	m, ok := plain("ttft")
	put("ttft", "ms", m, ok, "mean", "p50", "p95", "p99")
	m, ok = plain("ttft_intended")
	put("ttft_intended", "ms", m, ok, "mean", "p95", "p99")
	m, ok = plain("itl")
	put("itl_gap", "ms", m, ok, "mean", "p95", "p99")
	m, ok = over("tpot", func(n int) float64 { return float64(n - 1) })
	put("itl", "ms", m, ok, "mean", "p99")
	m, ok = over("tpot_over_n", func(n int) float64 { return float64(n) })
	put("time_per_output_token", "ms", m, ok, "mean", "p95", "p99")
	m, ok = plain("tpot")
	put("tpot_excl_first", "ms", m, ok, "mean", "p95", "p99")
	m, ok = plain("tpot_incl")
	put("tpot_incl", "ms", m, ok, "mean", "p95", "p99")
	m, ok = plain("e2e")
	put("request_latency", "seconds", scaled(m, 1e-3), ok, "mean", "p95", "p99")
}

func scaled(m report.Metric, factor float64) report.Metric {
	q := map[string]float64{}
	for name, v := range m.Quantiles {
		q[name] = v * factor
	}
	return report.Metric{Mean: m.Mean * factor, Quantiles: q}
}

func value(m report.Metric, part string) (float64, bool) {
	if part == "mean" {
		return m.Mean, true
	}
	v, ok := m.Quantiles[part]
	return v, ok
}

// weigh repeats the number of each request as often as its tokens say. Without rows what the report has stands.
func weigh(s *tools.Stage, metric string, weight func(n int) float64) (report.Metric, bool) {
	d, number := report.NewDistribution("ms"), tools.Numbers()[metric]
	for r := range s.Requests.Numbers() {
		v, ok := number(r)
		if !ok || r.Status != report.StatusOK {
			continue
		}
		for range int(math.Min(weight(*r.TokensOut), 1<<20)) {
			d.Add(v)
		}
	}
	if m, ok := d.Metric(); ok {
		return m, true
	}
	m, ok := s.Metrics[metric]
	return m, ok
}

// rates have a mean over the window; their quantiles are those of whole seconds.
func rates(doc object, s *tools.Stage) {
	for _, r := range []struct {
		prefix, suffix, name string
		of                   func(report.Second) float64
	}{
		{"throughput", "_rps", "request_rate", func(t report.Second) float64 { return float64(t.Done) }},
		{"output_tokens_per_second", "", "output_token_rate", func(t report.Second) float64 { return float64(t.TokensOut) }},
		{"tokens_per_second", "", "total_token_rate", nil},
	} {
		if v, ok := s.Rates[r.name]; ok {
			doc[r.prefix+"_mean"+r.suffix] = v
		}
		if r.of == nil {
			continue
		}
		xs := make([]float64, len(s.Series))
		for i, second := range s.Series {
			xs[i] = r.of(second)
		}
		if m, ok := report.Summarize("", xs); ok {
			doc[r.prefix+"_p95"+r.suffix], doc[r.prefix+"_p99"+r.suffix] = m.Quantiles["p95"], m.Quantiles["p99"]
		}
	}
}
