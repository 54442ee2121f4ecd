package guidellm

import (
	"encoding/json"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// summary2 is a summary in schema 2.
type summary2 struct{ summary }

// MarshalJSON adds the fields that only this schema has; we give no intervals and no curve.
func (s summary2) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		summary
		PDF           any `json:"pdf"`
		MeanCI        any `json:"mean_ci"`
		PercentileCIs any `json:"percentile_cis"`
	}{summary: s.summary})
}

func with2(m map[string]summary) map[string]summary2 {
	out := map[string]summary2{}
	for status, s := range m {
		out[status] = summary2{s}
	}
	return out
}

// metrics2 fills every metric of the tool that a benchmark of texts has.
func (s *stage) metrics2(run tools.Run) object {
	in, out, both := s.tokens()
	inRate := s.rate("input_token_rate", nil, s.numbers["tokens_in"])
	outRate := s.rate("output_token_rate", func(t report.Second) float64 { return float64(t.TokensOut) }, tokensOut(0))
	allRate := s.rate("total_token_rate", nil, nil)
	m := object{
		"request_totals":                     s.totals(),
		"requests_per_second":                with2(s.rate("request_rate", func(t report.Second) float64 { return float64(t.Done) }, nil)),
		"request_concurrency":                with2(s.concurrency()),
		"request_latency":                    with2(s.of("e2e", 1e-3, nil)),
		"request_dispatch_delay":             nil,
		"request_scheduled_latency":          nil,
		"turn_predecessor_delay":             nil,
		"turn_scheduling_delay":              nil,
		"root_dispatch_delay":                nil,
		"request_streaming_iterations_count": with2(s.over(events, nil)),
		"prompt_token_count":                 with2(in),
		"output_token_count":                 with2(out),
		"total_token_count":                  with2(both),
		"time_to_first_token_ms":             with2(s.of("ttft", 1, nil)),
		"time_to_first_output_token_ms":      with2(s.of("ttfc", 1, nil)),
		"time_per_output_token_ms":           with2(s.of("tpot_incl", 1, tokensOut(0))),
		"inter_token_latency_ms":             with2(s.of("tpot", 1, tokensOut(1))),
		"time_to_last_round_trip_ms":         with2(none()),
		"avg_round_trip_time_ms":             with2(none()),
		"prompt_tokens_per_second":           with2(inRate),
		"output_tokens_per_second":           with2(outRate),
		"tokens_per_second":                  with2(allRate),
		"output_tokens_per_iteration":        with2(s.over(perEvent(0), tokensOut(0))),
		"iter_tokens_per_iteration":          with2(s.over(perEvent(1), tokensOut(1))),
		"turns":                              nil,
	}
	text := modality("input", "input_per_second", "input_concurrency", "output", "output_per_second", "output_concurrency", "total", "total_per_second", "total_concurrency")
	text["input"], text["output"], text["total"] = with2(in), with2(out), with2(both)
	text["input_per_second"], text["output_per_second"], text["total_per_second"] = with2(inRate), with2(outRate), with2(allRate)
	m["text"] = object{"tokens": text, "words": modality(parts()...), "characters": modality(parts()...)}
	for kind, fields := range map[string][]string{"image": {"tokens", "images", "pixels", "bytes"}, "video": {"tokens", "frames", "seconds", "bytes"},
		"audio": {"tokens", "samples", "seconds", "bytes"}, "tool_call": {"tokens", "mixed_tokens", "count"}} {
		block := object{}
		for _, f := range fields {
			block[f] = modality(parts()...)
		}
		m[kind] = block
	}
	s.schedule(m)
	s.goodput(run, m)
	return m
}

func parts() []string {
	return []string{"input", "input_per_second", "input_concurrency", "output", "output_per_second", "output_concurrency", "total", "total_per_second", "total_concurrency"}
}

func modality(names ...string) object {
	out := object{}
	for _, n := range names {
		out[n] = nil
	}
	return out
}

func (s *stage) tokens() (in, out, both map[string]summary) {
	total := func(r *report.Row) (float64, bool) {
		a, okA := s.numbers["tokens_in"](r)
		b, okB := s.numbers["tokens_out"](r)
		return a + b, okA || okB
	}
	in, out, both = s.of("tokens_in", 1, nil), s.of("tokens_out", 1, nil), s.over(total, nil)
	if a, ok := s.Metrics["tokens_in"]; ok && s.Requests.Len() == 0 {
		mean := a.Mean + s.Metrics["tokens_out"].Mean
		both["successful"], both["total"] = constant(mean, a.N), constant(mean, a.N)
	}
	return in, out, both
}

// schedule adds the delays from the schedule, which only a schedule of its own gives a meaning.
func (s *stage) schedule(m object) {
	if !s.open() {
		return
	}
	m["request_dispatch_delay"] = with2(s.over(sinceIntended, nil))
	m["request_scheduled_latency"] = with2(s.of("e2e_intended", 1e-3, nil))
	m["turn_predecessor_delay"] = with2(s.over(func(r *report.Row) (float64, bool) { return 0, r.TSend != nil }, nil))
	m["turn_scheduling_delay"] = with2(s.over(sinceIntended, nil))
	m["root_dispatch_delay"] = summary2{summarize(values(s.scratch[:0], s.requests["total"], sinceIntended, nil))}
}

// goodput is given where objectives are that the tool has words for.
func (s *stage) goodput(run tools.Run, m object) {
	m["slo_attainment"], m["slo_determined_requests"], m["request_goodput"] = nil, 0, nil
	if s.Goodput == nil || objectives(run, s.measurement) == nil {
		return
	}
	m["slo_attainment"], m["slo_determined_requests"] = s.Goodput.Attainment, s.Goodput.Of
	good := constant(s.Goodput.RequestsPerS, int64(s.Goodput.Good))
	zero := constant(0, 0)
	m["request_goodput"] = with2(map[string]summary{"successful": good, "errored": zero, "incomplete": zero, "total": good})
}
