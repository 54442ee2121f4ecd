package spec

import (
	"maps"
	"slices"
	"strings"
)

// check finds a profile without the block of its tool. Blocks of other tools are ignored.
func (s *BenchmarkSpec) check() (out findings) {
	blocks := map[string]struct {
		path string
		set  bool
	}{
		"guidellm":       {"guidellm", !s.GuideLLM.IsZero()},
		"aiperf":         {"aiperf", !s.AIPerf.IsZero()},
		"inference-perf": {"inference_perf.config", !s.InferencePerf.Config.IsZero() && len(s.InferencePerf.Config.Node.Content) > 0},
		"vllm-bench":     {"vllm_bench", !s.VLLMBench.IsZero()},
		"native":         {"load", s.Load != nil},
	}
	if b, known := blocks[s.Tool]; known && !b.set {
		out.add(b.path, "required field is missing: tool %s needs it", s.Tool)
	}
	if _, ok := s.Env["GUIDELLM_OUTPUT_PATH"]; ok {
		out.add("env.GUIDELLM_OUTPUT_PATH", "the runner owns this variable; remove it")
	}
	if s.Tool == "native" {
		out.under("load", s.Load.check())
	}
	return out
}

// check finds empty queries.
func (s *MetricsSpec) check() (out findings) {
	for _, name := range slices.Sorted(maps.Keys(s.Queries)) {
		if strings.TrimSpace(s.Queries[name]) == "" {
			out.add("queries"+bracketed(name), "want a PromQL query, found nothing")
		}
	}
	return out
}

// bracketed is a key as it follows a path.
func bracketed(key string) string {
	text := Path{{Key: key}}.String()
	if strings.HasPrefix(text, "[") {
		return text
	}
	return "." + text
}

// check finds charts of nothing.
func (r *ReportMetrics) check() (out findings) {
	if len(r.Metrics) == 0 && r.Root != nil && child(r.Root, Seg{Key: "metrics"}) != nil {
		out.add("metrics", "want at least one metric, found none")
	}
	for i, m := range r.Metrics {
		switch at := (Path{{Key: "metrics"}, {Index: i}}).String(); {
		case m.Metric == "" && m.Query == "":
			out.add(at, "want metric or query, found neither")
		case m.Metric != "" && m.Query != "":
			out.add(at+".query", "want metric or query, found both")
		}
	}
	return out
}
