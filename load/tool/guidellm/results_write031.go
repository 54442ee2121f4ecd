package guidellm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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
	var out report031
	for i := range ms {
		for j := range ms[i].Stages {
			b := writeBenchmark031(run, newStage031(ctx, &ms[i], &ms[i].Stages[j]), j)
			b.choose(run)
			out.Benchmarks = append(out.Benchmarks, b)
		}
	}
	return []tools.File{tools.JSON(reportFile, out)}, ctx.Err()
}

// choose leaves of a benchmark what was asked for and adds the person's values.
func (b *benchmark031) choose(run tools.Run) {
	b.Requests.cut(run.Rows)
	maps.Copy(b.Extras, run.Extras)
}

// newStage031 counts from the first content: that generation does not see reasoning.
func newStage031(ctx context.Context, m *tools.Measurement, from *tools.Stage) *stage {
	s := newStage(ctx, m, from)
	gap := tools.Between(contentOf, func(r *report.Row) *int64 { return r.TLast })
	s.numbers["tpot"], s.numbers["tpot_over_n"] = tools.PerToken(gap, 1), tools.PerToken(gap, 0)
	return s
}

func writeBenchmark031(run tools.Run, s *stage, index int) benchmark031 {
	start, end := s.span031()
	list := func(status string) tools.Stream[row031] {
		return tools.StreamRequests(s.requests[status], func(r *report.Row) row031 { return s.writeRow031(r, status) })
	}
	url, model := tools.Target(run.Report)
	return benchmark031{
		Type: "generative_benchmark", ID: s.id(run), RunID: run.Report.Run.ID, Start: start, End: end, Duration: end - start,
		Args: s.args031(index), RunStats: s.runStats(),
		Worker: worker031{Type: "generative_requests_worker", BackendType: "openai_http", Target: url, Model: model,
			BackendInfo: tools.Free{}},
		Loader: loader031{Type: "generative_request_loader", Data: dataText(s.measurement), Processor: model},
		Extras: tools.FreeTexts(map[string]string{"exported_by": tools.ExportedBy, "tool": s.measurement.Tool,
			"tool_version": s.measurement.ToolVersion, "token_count_source": s.measurement.TokenCountSource}),
		Metrics: s.metrics031(), Totals: new(s.totals()),
		Requests: requests031{Errored: list("errored"), Incomplete: list("incomplete"), Successful: list("successful")},
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

func (s *stage) args031(index int) args031 {
	p := s.Planned
	out := args031{Profile: s.profile031(), StrategyIndex: index, Strategy: s.strategy031(),
		MaxNumber: positive(p.Requests)}
	if p.Duration > 0 {
		out.MaxDuration = new(p.Duration.Seconds())
	}
	out.WarmupNumber, out.WarmupDuration = trim031(p, p.SkipFirst)
	out.CooldownNumber, out.CooldownDuration = trim031(p, p.SkipLast)
	return out
}

// trim031 is what is left out at one end of a stage, as requests or as seconds: that generation knows no share.
func trim031(p runplan.Stage, t runplan.Trim) (requests *int, seconds *float64) {
	switch {
	case t.Share > 0 && p.Duration > 0:
		return nil, new(t.Share * p.Duration.Seconds())
	case t.Share > 0:
		return positive(int(math.Round(t.Share * float64(p.Requests)))), nil
	case t.Duration > 0:
		seconds = new(t.Duration.Seconds())
	}
	return positive(t.Requests), seconds
}

// strategy031 says initial_burst false: that generation began every rate with a burst, we do not.
func (s *stage) strategy031() strategy031 {
	out := strategy031{Type: strategyKind(s.Planned), Start: seconds(s.StartNS)}
	switch out.Type {
	case "concurrent":
		out.Streams = new(max(1, s.Planned.Concurrency))
	case "constant", "poisson":
		out.Rate, out.InitialBurst = new(rateOf(s.Stage)), new(bool)
		out.MaxConcurrency = tools.Some(positive(s.Planned.MaxInflight))
	default: // a trace is a throughput to it
		out.Type, out.MaxConcurrency = "throughput", tools.Some(positive(s.Planned.MaxInflight))
	}
	if out.Type == "poisson" {
		out.RandomSeed = &s.measurement.Plan.Data.Seed
	}
	return out
}

func (s *stage) profile031() profile031 {
	var rates, streams []float64
	for i := range s.measurement.Stages {
		rates = append(rates, rateOf(&s.measurement.Stages[i]))
		streams = append(streams, float64(max(1, s.measurement.Stages[i].Planned.Concurrency)))
	}
	out := profile031{Completed: len(rates), Rates: []float64{}, Concurrencies: []float64{}}
	switch kind := strategyKind(s.Planned); kind {
	case "concurrent":
		out.Type, out.Streams = kind, streams
	case "constant", "poisson":
		out.Type, out.StrategyType, out.Rate = "async", kind, rates
		out.InitialBurst, out.MaxConcurrency = new(bool), tools.Some(positive(s.Planned.MaxInflight))
		out.RandomSeed = &s.measurement.Plan.Data.Seed
	default:
		out.Type, out.MaxConcurrency = "throughput", tools.Some(positive(s.Planned.MaxInflight))
	}
	return out
}

func (s *stage) runStats() runStats031 {
	lag, _ := tools.Summarize("s", s.Requests, sinceIntended)
	took, _ := tools.Summarize("s", s.Requests, tools.In(s.numbers["e2e"], 1e-3))
	return runStats031{Start: seconds(s.StartNS), End: seconds(max(s.DrainEndNS, s.Window.EndNS)), Made: s.totals(),
		RequestTargetedDelay: lag.Mean, RequestTime: took.Mean, WorkerTime: took.Mean}
}

func (s *stage) metrics031() metrics031 {
	in, out, _ := s.tokens()
	overN := s.unweighted("tpot_over_n", tokensOut(0))
	if _, ok := s.Metrics["tpot_over_n"]; ok && s.Requests.Len() == 0 {
		overN = s.of("tpot_over_n", 1, nil)
	}
	done := func(t report.Second) float64 { return float64(t.Done) }
	produced := func(t report.Second) float64 { return float64(t.TokensOut) }
	return metrics031{
		RequestsPerS:       under031(s.rate("request_rate", done, nil)),
		Concurrency:        under031(s.concurrency()),
		Latency:            under031(s.of("e2e", 1e-3, nil)),
		PromptTokens:       under031(in),
		OutputTokens:       under031(out),
		TimeToFirstToken:   under031(s.of("ttfc", 1, nil)),
		TimePerOutputToken: under031(overN),
		InterTokenLatency:  under031(s.unweighted("tpot", tokensOut(1))),
		OutputTokensPerS:   under031(s.rate("output_token_rate", produced, nil)),
		TokensPerS:         under031(s.rate("total_token_rate", nil, nil)),
	}
}

// unweighted is a distribution weighted by tokens whose count and sum are those of its requests, as that generation
// writes them.
func (s *stage) unweighted(metric string, weight tools.Number) map[string]summary {
	out := s.of(metric, 1, weight)
	for _, status := range statuses() {
		if xs := s.values(status, s.numbers[metric], weight); len(xs) > 0 {
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

// writeRow031 makes one request. The prompt is not kept; the tool wants a text.
func (s *stage) writeRow031(r *report.Row, status string) row031 {
	n := s.numbers
	row := row031{Type: "generative_text_response", ID: r.ID, RequestType: "chat_completions",
		Scheduler: s.schedulerInfo(r, status), Output: new(""), PromptTokens: orZero(r.TokensIn),
		OutputTokens: orZero(r.TokensOut), StartTime: s.unix(sendOf(r)), EndTime: s.unix(lastSeen(r)),
		FirstTokenTime: s.unix(contentOf(r)), LastTokenTime: s.unix(r.TLast),
		Latency:          (float64(*lastSeen(r) - *sendOf(r))) / 1e9,
		TimeToFirstToken: number(r, n["ttfc"], 1), TimePerOutputToken: number(r, n["tpot_over_n"], 1),
		InterTokenLatency: number(r, n["tpot"], 1), TokensPerS: number(r, n["total_rate_user"], 1),
		OutputTokensPerS: number(r, n["output_rate_user"], 1)}
	if s.measurement.Plan.API.Type == runplan.APICompletions {
		row.RequestType = "text_completions"
	}
	if status != "successful" {
		row.Type, row.Output, row.Error = "generative_text_error", nil, new(r.ErrorClass+": "+r.Error)
		return row
	}
	for _, t := range []**float64{&row.FirstTokenTime, &row.LastTokenTime} { // an answer that did not stream
		*t = cmp.Or(*t, row.EndTime)
	}
	// the tool always writes these, 0 where there is nothing
	for _, v := range []**float64{&row.TimeToFirstToken, &row.TimePerOutputToken, &row.InterTokenLatency, &row.TokensPerS,
		&row.OutputTokensPerS} {
		if *v == nil {
			*v = new(float64)
		}
	}
	return row
}

func contentOf(r *report.Row) *int64 {
	return cmp.Or(r.TContent, r.TFirst)
}

func sendOf(r *report.Row) *int64 {
	return cmp.Or(r.TSend, &r.TIntended)
}

// orZero is a count that the tool always writes.
func orZero(n *int) *int {
	if n == nil {
		return new(int)
	}
	return n
}

func (s *stage) schedulerInfo(r *report.Row, status string) scheduler031 {
	intended, send, end := s.unix(&r.TIntended), s.unix(sendOf(r)), s.unix(lastSeen(r))
	return scheduler031{Requested: true, Completed: status == "successful", Errored: status == "errored",
		Canceled: status == "incomplete", TargetedStart: intended, QueuedTime: intended, DequeuedTime: intended,
		ScheduledTime: intended, WorkerStart: send, RequestStart: send, RequestEnd: end, WorkerEnd: end}
}
