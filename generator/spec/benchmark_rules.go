package spec

import (
	"maps"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/load"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/registry"
)

// block is where a profile keeps the words of one tool.
type block struct {
	tool, path string
	set        bool
}

func (s *BenchmarkSpec) blocks(tools registry.Tools) []block {
	blocks := []block{{load.Native, "load", s.Load != nil}}
	for _, t := range tools {
		d := t.Definition()
		b, set := s.Blocks[d.Name]
		if strings.Contains(d.Key, ".") {
			set = set && len(b.Node.Content) > 0
		}
		blocks = append(blocks, block{d.Name, d.Key, set})
	}
	return blocks
}

// ignores reports whether path lies in the block of another tool, where nothing counts.
func (s *BenchmarkSpec) ignores(tools registry.Tools, path string) bool {
	known, other := false, false
	for _, b := range s.blocks(tools) {
		top, _, _ := strings.Cut(b.path, ".")
		known = known || b.tool == s.Tool
		other = other || b.tool != s.Tool && nested(path, "spec."+top)
	}
	return known && other
}

// check finds a profile without the block of its tool. Blocks of other tools are ignored.
func (s *BenchmarkSpec) check(tools registry.Tools) (out problem.Findings) {
	for _, b := range s.blocks(tools) {
		if b.tool == s.Tool && !b.set {
			out.Add(b.path, "required field is missing: tool %s needs it", s.Tool)
		}
	}
	out.Under("env", tool.CheckEnv(s.Env))
	if s.Tool == load.Native {
		out.Under("load", s.Load.Check())
	}
	return out
}

// check finds empty queries.
func (s *MetricsSpec) check() (out problem.Findings) {
	for _, name := range slices.Sorted(maps.Keys(s.Queries)) {
		if strings.TrimSpace(s.Queries[name]) == "" {
			out.Add("queries"+bracketed(name), "want a PromQL query, found nothing")
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
func (r *ReportMetrics) check() (out problem.Findings) {
	if len(r.Metrics) == 0 && r.Root != nil && child(r.Root, Seg{Key: "metrics"}) != nil {
		out.Add("metrics", "want at least one metric, found none")
	}
	for i, m := range r.Metrics {
		switch at := (Path{{Key: "metrics"}, {Index: i}}).String(); {
		case m.Metric == "" && m.Query == "":
			out.Add(at, "want metric or query, found neither")
		case m.Metric != "" && m.Query != "":
			out.Add(at+".query", "want metric or query, found both")
		}
	}
	return out
}
