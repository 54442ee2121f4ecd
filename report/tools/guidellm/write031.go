package guidellm

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// Write031 returns benchmarks.json as GuideLLM 0.3.1 writes it. Its time per output token is (last - first)/n, its
// rows have no place for a request without a first token but among the errors, and its counts of weighted metrics are
// counts of requests.
func Write031(ctx context.Context, run tools.Run) ([]tools.File, error) {
	ms, err := tools.Measurements(ctx, run)
	if err != nil {
		return nil, err
	}
	benchmarks := []object{}
	for i := range ms {
		for j := range ms[i].Stages {
			benchmarks = append(benchmarks, run.Shaped(benchmark031(run, newStage031(&ms[i], &ms[i].Stages[j]), j), &ms[i].Stages[j]))
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
	lists := object{"total": nil}
	for _, status := range statuses()[:3] {
		lists[status] = tools.RequestsAs(s.requests[status], func(r *report.Row) any { return s.row031(r, status) })
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
		"metrics": s.metrics031(), "request_totals": s.totals(), "request_samples": nil, "requests": lists,
	}
}

// span031 is from the first send to the last end: that generation has no window.
func (s *stage) span031() (start, end float64) {
	start, end = seconds(s.Window.StartNS), seconds(max(s.DrainEndNS, s.Window.EndNS))
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for r := range s.Requests.Numbers() {
		if r.TSend != nil {
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
	var seconds any
	if p.Duration > 0 {
		seconds = p.Duration.Seconds()
	}
	out := object{"profile": s.profile031(), "strategy_index": index, "strategy": s.strategy031(), "max_number": positive(p.Requests),
		"max_duration": seconds}
	out["warmup_number"], out["warmup_duration"] = trim031(p, p.SkipFirst)
	out["cooldown_number"], out["cooldown_duration"] = trim031(p, p.SkipLast)
	return out
}

// trim031 is what is left out at one end of a stage, as requests or as seconds: that generation knows no share.
func trim031(p runplan.Stage, t runplan.Trim) (requests, seconds any) {
	switch {
	case t.Share > 0 && p.Duration > 0:
		return nil, t.Share * p.Duration.Seconds()
	case t.Share > 0:
		return positive(int(math.Round(t.Share * float64(p.Requests)))), nil
	case t.Duration > 0:
		seconds = t.Duration.Seconds()
	}
	return positive(t.Requests), seconds
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
	lag, _ := tools.Summarize("s", s.Requests, sinceIntended)
	took, _ := tools.Summarize("s", s.Requests, tools.In(s.numbers["e2e"], 1e-3))
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
	if _, ok := s.Metrics["tpot_over_n"]; ok && s.Requests.Len() == 0 {
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
		s.scratch = values(s.scratch[:0], s.requests[status], s.numbers[metric], weight)
		if xs := s.scratch; len(xs) > 0 {
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

// stats031 is one request. The members of it and of what it holds are in the order of their names.
type stats031 struct {
	EndTime            *float64     `json:"end_time"`
	Error              *string      `json:"error,omitempty"`
	FirstTokenTime     *float64     `json:"first_token_time"`
	InterTokenLatency  *float64     `json:"inter_token_latency_ms"`
	LastTokenTime      *float64     `json:"last_token_time"`
	Output             *string      `json:"output"`
	OutputTokens       int          `json:"output_tokens"`
	OutputTokensPerS   *float64     `json:"output_tokens_per_second"`
	Prompt             string       `json:"prompt"`
	PromptTokens       int          `json:"prompt_tokens"`
	ID                 string       `json:"request_id"`
	Latency            float64      `json:"request_latency"`
	RequestType        string       `json:"request_type"`
	Scheduler          scheduler031 `json:"scheduler_info"`
	StartTime          *float64     `json:"start_time"`
	TimePerOutputToken *float64     `json:"time_per_output_token_ms"`
	TimeToFirstToken   *float64     `json:"time_to_first_token_ms"`
	TokensPerS         *float64     `json:"tokens_per_second"`
	Type               string       `json:"type_"`
}

type scheduler031 struct {
	Canceled      bool     `json:"canceled"`
	Completed     bool     `json:"completed"`
	DequeuedTime  *float64 `json:"dequeued_time"`
	Errored       bool     `json:"errored"`
	ProcessID     int      `json:"process_id"`
	QueuedTime    *float64 `json:"queued_time"`
	RequestEnd    *float64 `json:"request_end"`
	RequestStart  *float64 `json:"request_start"`
	Requested     bool     `json:"requested"`
	ScheduledTime *float64 `json:"scheduled_time"`
	TargetedStart *float64 `json:"targeted_start_time"`
	WorkerEnd     *float64 `json:"worker_end"`
	WorkerStart   *float64 `json:"worker_start"`
}

// row031 is one request. The prompt is not kept; the tool wants a text.
func (s *stage) row031(r *report.Row, status string) stats031 {
	n, output := s.numbers, ""
	row := stats031{Type: "generative_text_response", ID: r.ID, RequestType: "chat_completions", Scheduler: s.schedulerInfo(r, status),
		Output: &output, PromptTokens: zero(r.TokensIn), OutputTokens: zero(r.TokensOut), StartTime: s.unix(sendOf(r)), EndTime: s.unix(lastSeen(r)),
		FirstTokenTime: s.unix(contentOf(r)), LastTokenTime: s.unix(r.TLast), Latency: (float64(*lastSeen(r) - *sendOf(r))) / 1e9,
		TimeToFirstToken: number(r, n["ttfc"], 1), TimePerOutputToken: number(r, n["tpot_over_n"], 1),
		InterTokenLatency: number(r, n["tpot"], 1), TokensPerS: number(r, n["total_rate_user"], 1),
		OutputTokensPerS: number(r, n["output_rate_user"], 1)}
	if s.measurement.Plan.API.Type == runplan.APICompletions {
		row.RequestType = "text_completions"
	}
	if status != "successful" {
		failure := r.ErrorClass + ": " + r.Error
		row.Type, row.Output, row.Error = "generative_text_error", nil, &failure
		return row
	}
	for _, t := range []**float64{&row.FirstTokenTime, &row.LastTokenTime} { // an answer that did not stream
		if *t == nil {
			*t = row.EndTime
		}
	}
	// the tool always writes these, 0 where there is nothing
	for _, v := range []**float64{&row.TimeToFirstToken, &row.TimePerOutputToken, &row.InterTokenLatency, &row.TokensPerS, &row.OutputTokensPerS} {
		if *v == nil {
			*v = new(float64)
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

func (s *stage) schedulerInfo(r *report.Row, status string) scheduler031 {
	intended, send, end := s.unix(&r.TIntended), s.unix(sendOf(r)), s.unix(lastSeen(r))
	return scheduler031{Requested: true, Completed: status == "successful", Errored: status == "errored", Canceled: status == "incomplete",
		TargetedStart: intended, QueuedTime: intended, DequeuedTime: intended, ScheduledTime: intended, WorkerStart: send,
		RequestStart: send, RequestEnd: end, WorkerEnd: end}
}
