package aiperf

import (
	"cmp"
	"math"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// tag is a metric of a request in the tool's words.
type tag struct {
	name, title, unit, metric string
}

// tags are the metrics of a request that we have, by ours. Its inter token latency is our tpot, its inter chunk
// latency our itl, and its request latency ends with the last token.
func tags() []tag {
	return []tag{
		{"time_to_first_token", "Time to First Token", "ms", "ttft"},
		{"time_to_first_output_token", "Time to First Output Token", "ms", "ttfc"},
		{"inter_token_latency", "Inter Token Latency", "ms", "tpot"},
		{"inter_chunk_latency", "Inter Chunk Latency", "ms", "itl"},
		{"request_latency", "Request Latency", "ms", "e2e_last_token"},
		{"output_token_throughput_per_user", "Output Token Throughput Per User", "tokens/sec/user", "decode_rate_user"},
		{"prefill_throughput_per_user", "Prefill Throughput Per User", "tokens/sec/user", "prefill_rate_user"},
		{"e2e_output_token_throughput", "E2E Output Token Throughput", "tokens/sec/user", "output_rate_user"},
		{"input_sequence_length", "Input Sequence Length", "tokens", "tokens_in"},
		{"output_sequence_length", "Output Sequence Length", "tokens", "tokens_out"},
		{"output_token_count", "Output Token Count", "tokens", "tokens_content"},
		{"reasoning_token_count", "Reasoning Token Count", "tokens", "tokens_reasoning"},
	}
}

// numbers are ours with those that only this tool has.
func numbers() map[string]tools.Number {
	n := tools.Numbers()
	n["decode_rate_user"] = inverse(n["tpot"])
	n["tokens_reasoning"] = tools.Count(func(r *report.Row) *int {
		if r.TokensReasoning == nil || *r.TokensReasoning == 0 {
			return nil
		}
		return r.TokensReasoning
	})
	n["tokens_content"] = tools.Count(func(r *report.Row) *int {
		if r.TokensOut == nil || r.TokensReasoning == nil {
			return r.TokensOut
		}
		return new(*r.TokensOut - *r.TokensReasoning)
	})
	n["prefill_rate_user"] = func(r *report.Row) (float64, bool) {
		ttft, ok := n["ttft"](r)
		if !ok || r.TokensIn == nil || ttft <= 0 {
			return 0, false
		}
		return float64(*r.TokensIn) / ttft * 1e3, true
	}
	return n
}

func inverse(n tools.Number) tools.Number {
	return func(r *report.Row) (float64, bool) {
		v, ok := n(r)
		if !ok || v <= 0 {
			return 0, false
		}
		return 1e3 / v, true
	}
}

func fromMetric(unit string, m report.Metric) result {
	r := result{Unit: unit, Avg: &m.Mean, Std: &m.Stdev, Count: &m.N, Sum: &m.Sum}
	if m.Has("min") && m.Has("max") {
		r.Min, r.Max = &m.Min, &m.Max
	}
	for name, to := range r.quantiles() {
		if v, ok := m.Quantiles[name]; ok {
			*to = &v
		}
	}
	return r
}

// quantiles are the places of our quantiles.
func (r *result) quantiles() map[string]**float64 {
	return map[string]**float64{"p1": &r.P1, "p5": &r.P5, "p10": &r.P10, "p25": &r.P25, "p50": &r.P50, "p75": &r.P75,
		"p90": &r.P90, "p95": &r.P95, "p99": &r.P99}
}

func scalar(unit string, v float64) result { return result{Unit: unit, Avg: &v} }

// named is a metric with its name and the title that the table has for it.
type named struct {
	tag, title string
	result
}

// distributions are the metrics of the requests that ended well.
func distributions(s *tools.Stage) []named {
	var out []named
	ok := s.Requests.Only(func(r *report.Row) bool { return r.Status == report.StatusOK })
	all := numbers()
	for _, t := range tags() {
		m, found := s.Metrics[t.metric]
		if n := all[t.metric]; n != nil && ok.Len() > 0 {
			m, found = tools.Summarize(t.unit, ok, n)
		}
		if found {
			out = append(out, named{t.name, t.title, fromMetric(t.unit, m)})
		}
	}
	return out
}

// scalars are the numbers of the whole run; rates are over the whole run, drain included.
func scalars(s *tools.Stage) []named {
	ok, bad := s.Counts.ByStatus[report.StatusOK], s.Counts.Failed()
	out := []named{{"request_count", "Request Count", scalar("requests", float64(ok))},
		{"completed_request_count", "Completed Requests (Success + Error)", scalar("requests", float64(ok+bad))},
		{"total_isl", "Total ISL", scalar("tokens", float64(s.Tokens.In))},
		{"total_osl", "Total OSL", scalar("tokens", float64(s.Tokens.Out))},
		{"total_output_tokens", "Total Output Tokens", scalar("tokens", float64(s.Tokens.Out))},
		{"benchmark_duration", "Benchmark Duration", scalar("sec", duration(s))}}
	if bad > 0 { // clean runs leave it out
		out = append(out, named{"error_request_count", "Error Request Count", scalar("requests", float64(bad))})
	}
	if s.ErrorRate != nil {
		out = append(out, named{"request_error_rate", "Request Error Rate", scalar("%", 100**s.ErrorRate)})
	}
	for _, r := range [][4]string{{"request_throughput", "Request Throughput", "requests/sec", "request_rate"},
		{"output_token_throughput", "Output Token Throughput", "tokens/sec", "output_token_rate"},
		{"input_token_throughput", "Input Token Throughput", "tokens/sec", "input_token_rate"},
		{"total_token_throughput", "Total Token Throughput", "tokens/sec", "total_token_rate"}} {
		v, found := s.Rates[r[3]+"_run"]
		if !found {
			v, found = s.Rates[r[3]]
		}
		if found {
			out = append(out, named{r[0], r[1], scalar(r[2], v)})
		}
	}
	if g := s.Goodput; g != nil {
		out = append(out, named{"goodput", "Goodput", scalar("requests/sec", g.RequestsPerS)},
			named{"good_request_count", "Good Request Count", scalar("requests", float64(g.Good))},
			named{"good_request_fraction", "Good Request Fraction", scalar("ratio", g.Attainment)})
	}
	return out
}

// duration is from the first start to the last token, in s.
func duration(s *tools.Stage) float64 {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for r := range s.Requests.Numbers() {
		end := cmp.Or(r.TLast, r.TEnd)
		if r.TSend != nil && end != nil {
			first, last = min(first, *r.TSend), max(last, *end)
		}
	}
	if first == math.MaxInt64 {
		return s.WindowS
	}
	return float64(last-first) / 1e9
}
