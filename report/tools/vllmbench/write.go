// Package vllmbench writes and reads the result file of `vllm bench serve`: one object per load value, one per line
// where there are several. Times of summaries are ms, those of the lists of requests s.
package vllmbench

import (
	"context"
	"math"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

type object = map[string]any

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
	var results []object
	for i := range ms {
		for j := range ms[i].Stages {
			r := result(run, &ms[i], &ms[i].Stages[j])
			if detailed {
				details(r, &ms[i].Stages[j])
			}
			results = append(results, run.Shaped(r, &ms[i].Stages[j]))
		}
	}
	const name = "vllm-bench.json"
	if len(results) == 1 && !run.Lines {
		return []tools.File{tools.JSON(name, results[0])}, nil
	}
	return []tools.File{tools.JSONLines(name, tools.ListOf(results))}, nil
}

// result is one load value. The rates are those over the whole run, drain included, as the tool's are.
func result(run tools.Run, m *tools.Measurement, s *tools.Stage) object {
	_, model := tools.Target(run.Report)
	ok := s.Counts.ByStatus[report.StatusOK]
	out := object{
		"date": time.Unix(0, s.StartNS).UTC().Format("20060102-150405"), "endpoint_type": backend(m.Plan.API.Type), "backend": backend(m.Plan.API.Type),
		"label": s.Planned.Name, "model_id": model, "tokenizer_id": model, "num_prompts": s.Counts.Total,
		"exported_by": tools.ExportedBy, "tool": m.Tool, "token_count_source": m.TokenCountSource,
		"token_events": "first token and gaps are those of events that hold a token, not of every chunk",
		"request_rate": requestRate(s), "burstiness": burstiness(s.Planned), "max_concurrency": concurrency(s.Planned),
		"duration": duration(s), "completed": ok, "failed": s.Counts.Total - ok - s.Counts.ByStatus[report.StatusCut] - s.Counts.ByStatus[report.StatusCancelled],
		"total_input_tokens": inputOf(s), "total_output_tokens": s.Tokens.Out,
		"request_goodput": nil,
	}
	if s.Goodput != nil {
		out["request_goodput"] = s.Goodput.RequestsPerS
	}
	rates(out, s)
	for name, metric := range map[string]string{"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2e_last_token",
		"client_queue_time": "queue_wait", "e2el_including_client_queue": "e2e_intended"} {
		if v, ok := s.Metrics[metric]; ok {
			summary(out, name, v)
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

// summary writes a distribution under the tool's names. It has no least and no greatest value.
func summary(out object, name string, m report.Metric) {
	out["mean_"+name+"_ms"], out["std_"+name+"_ms"] = m.Mean, m.Stdev
	for q, key := range map[string]string{"p50": "median", "p90": "p90", "p95": "p95", "p99": "p99", "p99_9": "p99.9"} {
		if v, ok := m.Quantiles[q]; ok {
			out[key+"_"+name+"_ms"] = v
		}
	}
}

func rates(out object, s *tools.Stage) {
	for key, name := range map[string]string{"request_throughput": "request_rate", "output_throughput": "output_token_rate", "total_token_throughput": "total_token_rate"} {
		if v, ok := s.Rates[name+"_run"]; ok {
			out[key] = v
		} else if v, ok := s.Rates[name]; ok {
			out[key] = v
		}
	}
	best, most := 0, 0.0
	for _, second := range s.Series {
		best, most = max(best, second.TokensOut), max(most, second.InFlight)
	}
	if len(s.Series) > 0 {
		out["max_output_tokens_per_s"], out["max_concurrent_requests"] = float64(best), int(math.Ceil(most))
	}
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

// requestRate is "inf" for a load without a rate: the tool writes that text.
func requestRate(s *tools.Stage) any {
	for _, rate := range []float64{s.Rate, s.Planned.Rate} {
		if rate > 0 {
			return rate
		}
	}
	return "inf"
}

func burstiness(s runplan.Stage) any {
	switch {
	case s.Burstiness > 0:
		return s.Burstiness
	case s.Arrival == "constant":
		return "inf"
	}
	return 1.0
}

func concurrency(s runplan.Stage) any {
	if n := max(s.Concurrency, s.MaxInflight); n > 0 {
		return n
	}
	return nil
}
