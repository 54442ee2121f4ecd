package guidellm

import (
	"encoding/json"
	"fmt"
	"math"

	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/report/tools"
	"bflow.dev/bflow/tasks/runplan"
)

// Write031 returns benchmarks.json as GuideLLM 0.3.1 writes it. Its time per output token is (last - first)/n, its
// rows have no place for a request without a first token but among the errors, and its counts of weighted metrics are
// counts of requests.
func Write031(run tools.Run) ([]tools.File, error) {
	ms, err := tools.Measurements(run)
	if err != nil {
		return nil, err
	}
	benchmarks := []object{}
	for i := range ms {
		for j := range ms[i].Stages {
			benchmarks = append(benchmarks, benchmark031(run, newStage031(&ms[i], &ms[i].Stages[j]), j))
		}
	}
	return []tools.File{tools.JSON("benchmarks.json", object{"benchmarks": benchmarks})}, nil
}

// newStage031 counts from the first content: that generation does not see reasoning.
func newStage031(m *tools.Measurement, from *tools.Stage) *stage {
	s := newStage(m, from)
	gap := tools.Between(contentOf, func(r *report.Row) *int64 { return r.TLast })
	s.numbers["tpot"], s.numbers["tpot_over_n"] = tools.PerToken(gap, 1), tools.PerToken(gap, 0)
	return s
}

func benchmark031(run tools.Run, s *stage, index int) object {
	start, end := s.span031()
	rows := object{"total": nil}
	for _, status := range statuses()[:3] {
		list := []object{}
		for i := range s.rows[status] {
			list = append(list, s.row031(&s.rows[status][i], status))
		}
		rows[status] = list
	}
	url, model := tools.Target(run.Report)
	return object{
		"type_": "generative_benchmark", "id_": s.id(run), "run_id": run.Report.Run.ID, "start_time": start, "end_time": end, "duration": end - start,
		"args": s.args031(index), "run_stats": s.runStats(),
		"worker": object{"type_": "generative_requests_worker", "backend_type": "openai_http", "backend_target": url, "backend_model": model,
			"backend_info": object{}},
		"request_loader": object{"type_": "generative_request_loader", "data": dataText(s.measurement), "data_args": nil, "processor": model, "processor_args": nil},
		"extras": object{"exported_by": tools.ExportedBy, "tool": s.measurement.Tool, "tool_version": s.measurement.ToolVersion,
			"token_count_source": s.measurement.TokenCountSource},
		"metrics": s.metrics031(), "request_totals": s.totals(), "request_samples": nil, "requests": rows,
	}
}

// span031 is from the first send to the last end: that generation has no window.
func (s *stage) span031() (start, end float64) {
	start, end = seconds(s.Window.StartNS), seconds(max(s.DrainEndNS, s.Window.EndNS))
	if len(s.Rows) == 0 {
		return start, end
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range s.Rows {
		if r := &s.Rows[i]; r.TSend != nil {
			first, last = min(first, *r.TSend), max(last, *lastSeen(r))
		}
	}
	if first > last {
		return start, end
	}
	anchor := s.measurement.Header.AnchorUnixNS
	return seconds(anchor + first), seconds(anchor + last)
}

// dataText is the synthetic data as a person would have typed it: readers cut the lengths out of it.
func dataText(m *tools.Measurement) string {
	in, out := m.Plan.Data.Input, m.Plan.Data.Output
	text := ""
	if in != nil {
		text = fmt.Sprintf("prompt_tokens=%.0f", in.Mean)
	}
	if out != nil {
		if text != "" {
			text += ","
		}
		text += fmt.Sprintf("output_tokens=%.0f", out.Mean)
	}
	return text
}

func (s *stage) args031(index int) object {
	p := s.Planned
	var seconds, first, last any
	if p.Duration > 0 {
		seconds = p.Duration.Seconds()
	}
	if p.SkipFirst.Duration > 0 {
		first = p.SkipFirst.Duration.Seconds()
	}
	if p.SkipLast.Duration > 0 {
		last = p.SkipLast.Duration.Seconds()
	}
	return object{"profile": s.profile031(), "strategy_index": index, "strategy": s.strategy031(), "max_number": positive(p.Requests),
		"max_duration": seconds, "warmup_number": positive(p.SkipFirst.Requests), "warmup_duration": first,
		"cooldown_number": positive(p.SkipLast.Requests), "cooldown_duration": last}
}

// strategy031 says initial_burst false: that generation began every rate with a burst, we do not.
func (s *stage) strategy031() object {
	out := object{"type_": strategyKind(s.Planned), "start_time": seconds(s.StartNS)}
	switch out["type_"] {
	case "concurrent":
		out["streams"] = max(1, s.Planned.Concurrency)
	case "constant", "poisson":
		out["rate"], out["initial_burst"], out["max_concurrency"] = rateOf(s.Stage), false, positive(s.Planned.MaxInflight)
	default: // a trace is a throughput to it
		out["type_"], out["max_concurrency"] = "throughput", positive(s.Planned.MaxInflight)
	}
	if out["type_"] == "poisson" {
		out["random_seed"] = s.measurement.Plan.Data.Seed
	}
	return out
}

func (s *stage) profile031() object {
	var rates, streams []float64
	for i := range s.measurement.Stages {
		rates = append(rates, rateOf(&s.measurement.Stages[i]))
		streams = append(streams, float64(max(1, s.measurement.Stages[i].Planned.Concurrency)))
	}
	out := object{"completed_strategies": len(rates), "measured_rates": []float64{}, "measured_concurrencies": []float64{}}
	switch kind := strategyKind(s.Planned); kind {
	case "concurrent":
		out["type_"], out["streams"] = kind, streams
	case "constant", "poisson":
		out["type_"], out["strategy_type"], out["rate"], out["initial_burst"], out["max_concurrency"] = "async", kind, rates, false, positive(s.Planned.MaxInflight)
		out["random_seed"] = s.measurement.Plan.Data.Seed
	default:
		out["type_"], out["max_concurrency"] = "throughput", positive(s.Planned.MaxInflight)
	}
	return out
}

func (s *stage) runStats() object {
	lag, _ := report.Summarize("s", tools.Collect(s.Rows, sinceIntended))
	took, _ := report.Summarize("s", tools.Collect(s.Rows, tools.In(s.numbers["e2e"], 1e-3)))
	out := object{"start_time": seconds(s.StartNS), "end_time": seconds(max(s.DrainEndNS, s.Window.EndNS)), "requests_made": s.totals(),
		"request_start_time_targeted_delay_avg": lag.Mean, "request_time_avg": took.Mean, "worker_time_avg": took.Mean}
	for _, name := range []string{"queued_time", "scheduled_time_delay", "scheduled_time_sleep", "worker_start_delay",
		"worker_start_time_targeted_delay", "request_start_time_delay", "request_time_delay"} {
		out[name+"_avg"] = 0.0
	}
	return out
}

// summary031 is a summary of that generation.
type summary031 struct{ summary }

// MarshalJSON adds the field that only this schema has.
func (s summary031) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		summary
		CDF any `json:"cumulative_distribution_function"`
	}{summary: s.summary})
}

func (s *stage) metrics031() object {
	in, out, _ := s.tokens()
	overN := s.unweighted("tpot_over_n", tokensOut(0))
	if _, ok := s.Metrics["tpot_over_n"]; ok && len(s.Rows) == 0 {
		overN = s.of("tpot_over_n", 1, nil)
	}
	all := map[string]map[string]summary{
		"requests_per_second":      s.rate("request_rate", func(t report.Second) float64 { return float64(t.Done) }, nil),
		"request_concurrency":      s.concurrency(),
		"request_latency":          s.of("e2e", 1e-3, nil),
		"prompt_token_count":       in,
		"output_token_count":       out,
		"time_to_first_token_ms":   s.of("ttfc", 1, nil),
		"time_per_output_token_ms": overN,
		"inter_token_latency_ms":   s.unweighted("tpot", tokensOut(1)),
		"output_tokens_per_second": s.rate("output_token_rate", func(t report.Second) float64 { return float64(t.TokensOut) }, nil),
		"tokens_per_second":        s.rate("total_token_rate", nil, nil),
	}
	m := object{}
	for name, statuses := range all {
		block := map[string]summary031{}
		for status, sum := range statuses {
			block[status] = summary031{sum}
		}
		m[name] = block
	}
	return m
}

// unweighted is a distribution weighted by tokens whose count and sum are those of its requests, as that generation
// writes them.
func (s *stage) unweighted(metric string, weight tools.Number) map[string]summary {
	out := s.of(metric, 1, weight)
	for _, status := range statuses() {
		if xs := values(s.rows[status], s.numbers[metric], weight); len(xs) > 0 {
			sum := out[status]
			sum.Count, sum.TotalSum = int64(len(xs)), 0
			for _, x := range xs {
				sum.TotalSum += x.value
			}
			out[status] = sum
		}
	}
	return out
}

// row031 is one request. The prompt is not kept; the tool wants a text.
func (s *stage) row031(r *report.Row, status string) object {
	n, kind := s.numbers, "chat_completions"
	if s.measurement.Plan.API.Type == runplan.APICompletions {
		kind = "text_completions"
	}
	row := object{"type_": "generative_text_response", "request_id": r.ID, "request_type": kind, "scheduler_info": s.schedulerInfo(r, status),
		"prompt": "", "output": "", "prompt_tokens": zero(r.TokensIn), "output_tokens": zero(r.TokensOut), "start_time": s.unix(sendOf(r)),
		"end_time": s.unix(lastSeen(r)), "first_token_time": s.unix(contentOf(r)), "last_token_time": s.unix(r.TLast),
		"request_latency":        (float64(*lastSeen(r) - *sendOf(r))) / 1e9,
		"time_to_first_token_ms": s.number(r, n["ttfc"], 1), "time_per_output_token_ms": s.number(r, n["tpot_over_n"], 1),
		"inter_token_latency_ms": s.number(r, n["tpot"], 1), "tokens_per_second": s.number(r, n["total_rate_user"], 1),
		"output_tokens_per_second": s.number(r, n["output_rate_user"], 1)}
	if status != "successful" {
		row["type_"], row["output"], row["error"] = "generative_text_error", nil, r.ErrorClass+": "+r.Error
		return row
	}
	for _, name := range []string{"first_token_time", "last_token_time"} { // an answer that did not stream
		if row[name] == nil {
			row[name] = row["end_time"]
		}
	}
	for name, v := range row { // the tool always writes these, 0 where there is nothing
		if v == nil {
			row[name] = 0.0
		}
	}
	return row
}

func contentOf(r *report.Row) *int64 {
	if r.TContent != nil {
		return r.TContent
	}
	return r.TFirst
}

func sendOf(r *report.Row) *int64 {
	if r.TSend != nil {
		return r.TSend
	}
	return &r.TIntended
}

func zero(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

func (s *stage) schedulerInfo(r *report.Row, status string) object {
	intended, send, end := s.unix(&r.TIntended), s.unix(sendOf(r)), s.unix(lastSeen(r))
	return object{"requested": true, "completed": status == "successful", "errored": status == "errored", "canceled": status == "incomplete",
		"targeted_start_time": intended, "queued_time": intended, "dequeued_time": intended, "scheduled_time": intended, "worker_start": send,
		"request_start": send, "request_end": end, "worker_end": end, "process_id": 0}
}
