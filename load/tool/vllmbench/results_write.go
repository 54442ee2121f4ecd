package vllmbench

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// Write returns the result as --save-result makes it.
func Write(ctx context.Context, run tools.Run) ([]tools.File, error) { return write(ctx, run, false) }

// WriteDetailed adds the lists of requests, as --save-detailed does.
func WriteDetailed(ctx context.Context, run tools.Run) ([]tools.File, error) {
	return write(ctx, run, true)
}

func write(ctx context.Context, run tools.Run, detailed bool) ([]tools.File, error) {
	ms, err := tools.Measurements(ctx, run)
	if err != nil {
		return nil, err
	}
	var results []*result
	for i := range ms {
		for j := range ms[i].Stages {
			r := makeResult(run, &ms[i], &ms[i].Stages[j])
			if detailed {
				r.lists = makeLists(&ms[i].Stages[j])
			}
			results = append(results, r)
		}
	}
	const name = "vllm-bench.json"
	file := tools.JSONLines(name, tools.StreamOf(results))
	if len(results) == 1 && !run.Lines {
		file = tools.JSON(name, results[0])
	}
	file.ToolName = results[0].fileName()
	return []tools.File{file}, nil
}

// makeResult is one load value. The rates are those over the whole run, drain included, as the tool's are.
func makeResult(run tools.Run, m *tools.Measurement, s *tools.Stage) *result {
	_, model := tools.Target(run.Report)
	c := s.Counts.ByStatus
	ok := c[report.StatusOK]
	failed := s.Counts.Total - ok - c[report.StatusCut] - c[report.StatusCancelled]
	out := &result{
		Date: time.Unix(0, s.StartNS).UTC().Format("20060102-150405"), Endpoint: backend(m.Plan.API.Type),
		Backend: backend(m.Plan.API.Type), Label: &s.Planned.Name, Model: model, Tokenizer: model,
		Prompts: float64(s.Counts.Total), ExportedBy: tools.ExportedBy, Tool: &m.Tool, TokenSource: &m.TokenCountSource,
		TokenEvents: "first token and gaps are those of events that hold a token, not of every chunk",
		Rate:        requestRate(s), Burstiness: burstiness(s.Planned), Concurrency: concurrency(s.Planned),
		Duration: duration(s), Completed: &ok, Failed: &failed, Input: float64(inputOf(s)), Output: float64(s.Tokens.Out),
		Latencies: map[string]float64{}, Extras: run.Extras,
	}
	if s.Goodput != nil {
		out.Goodput = &s.Goodput.RequestsPerS
	}
	out.addRates(s)
	for _, l := range latencies() {
		out.addChosen(run, s, l)
	}
	for _, l := range []latency{queueTime(), {"e2el_including_client_queue", "e2e_intended"}} {
		out.addSummary(s, l, true)
	}
	for _, name := range run.Latencies {
		if !slices.ContainsFunc(latencies(), func(l latency) bool { return l.name == name }) && run.Note != nil {
			run.Note(fmt.Sprintf("there is no metric %q: want ttft, tpot, itl or e2el", name))
		}
	}
	return out
}

func inputOf(s *tools.Stage) int64 {
	if s.Tokens.In > 0 {
		return s.Tokens.In
	}
	return s.Tokens.InAsked
}

// addChosen adds a latency, and of its percentiles those that were asked for.
func (r *result) addChosen(run tools.Run, s *tools.Stage, l latency) {
	if run.Latencies != nil && !slices.Contains(run.Latencies, l.name) {
		return
	}
	r.addSummary(s, l, run.Percentiles == nil)
	if run.Percentiles == nil {
		return
	}
	d, err := s.Distribution(l.metric)
	if err != nil && run.Note != nil {
		run.Note(fmt.Sprintf("no percentiles of %s: %v", l.name, err))
	}
	if d == nil {
		return
	}
	for _, p := range run.Percentiles {
		if v, ok := d.Percentile(p); ok {
			r.Latencies[latencyName(percentileName(p), l.name)] = v
		}
	}
}

// addSummary adds a distribution under the tool's names. It has no least and no greatest value.
func (r *result) addSummary(s *tools.Stage, l latency, percentiles bool) {
	m, ok := s.Metrics[l.metric]
	if !ok {
		return
	}
	r.Latencies[latencyName("mean", l.name)] = m.Mean
	r.Latencies[latencyName("std", l.name)] = m.Stdev
	for q, part := range map[string]string{"p50": "median", "p90": "p90", "p95": "p95", "p99": "p99", "p99_9": "p99.9"} {
		if v, ok := m.Quantiles[q]; ok && (percentiles || part == "median") {
			r.Latencies[latencyName(part, l.name)] = v
		}
	}
}

func (r *result) addRates(s *tools.Stage) {
	for name, to := range map[string]**float64{"request_rate": &r.Requests, "output_token_rate": &r.OutputRate,
		"total_token_rate": &r.TotalRate} {
		if v, ok := s.Rates[name+"_run"]; ok {
			*to = &v
		} else if v, ok := s.Rates[name]; ok {
			*to = &v
		}
	}
	best, most := 0.0, 0.0
	for _, second := range s.Series {
		best, most = max(best, float64(second.TokensOut)), max(most, second.InFlight)
	}
	if len(s.Series) > 0 {
		r.BestSecond, r.MostInFlight = &best, new(int(math.Ceil(most)))
	}
}

// fileName is the name that the tool gives the file of a result. A value of the person's own may stand for one of the
// members that it is made of.
func (r *result) fileName() string {
	rate := r.text("request_rate", r.Rate.String())
	if v, err := strconv.ParseFloat(rate, 64); err == nil && !strings.ContainsAny(rate, ".en") {
		rate = strconv.FormatFloat(v, 'f', 1, 64)
	}
	name := r.text("backend", r.Backend) + "-" + rate + "qps"
	limit := ""
	if r.Concurrency != nil {
		limit = strconv.FormatFloat(*r.Concurrency, 'f', -1, 64)
	}
	if limit = r.text("max_concurrency", limit); limit != "" {
		name += "-concurrency" + limit
	}
	model := r.text("model_id", r.Model)
	return fmt.Sprintf("%s-%s-%s.json", name, model[strings.LastIndex(model, "/")+1:], r.text("date", r.Date))
}

// text is the value of a member of the person's own, else the one given.
func (r *result) text(member, otherwise string) string {
	raw, ok := r.Extras[member]
	if !ok {
		return otherwise
	}
	if text := ""; json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// duration is from the first send to the last answer.
func duration(s *tools.Stage) float64 {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for r := range s.Requests.Numbers() {
		if r.TSend != nil && r.TEnd != nil {
			first, last = min(first, *r.TSend), max(last, *r.TEnd)
		}
	}
	if last > first {
		return float64(last-first) / 1e9
	}
	return float64(max(s.DrainEndNS, s.Window.EndNS)-s.StartNS) / 1e9
}

func backend(api string) string {
	switch api {
	case runplan.APICompletions, "":
		return "openai"
	case runplan.APIEmbeddings:
		return "openai-embeddings"
	}
	return "openai-chat"
}

// requestRate is infinite for a load without a rate.
func requestRate(s *tools.Stage) factor {
	for _, rate := range []float64{s.Rate, s.Planned.Rate} {
		if rate > 0 {
			return factor(rate)
		}
	}
	return factor(math.Inf(1))
}

func burstiness(s runplan.Stage) factor {
	switch {
	case s.Burstiness > 0:
		return factor(s.Burstiness)
	case s.Arrival == "constant":
		return factor(math.Inf(1))
	}
	return 1
}

func concurrency(s runplan.Stage) *float64 {
	if n := max(s.Concurrency, s.MaxInflight); n > 0 {
		return new(float64(n))
	}
	return nil
}
