package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"bflow.dev/bflow/report"
)

// inferenceBlock is a load in inference-perf's words. Its chat prompts come as a shared prefix and a question; here the
// prefix is one token. A closed loop of it can only be bounded by a number of requests.
func inferenceBlock(p *peer, of load) map[string]any {
	stage := map[string]any{"rate": of.rate, "duration": int(of.seconds)}
	kind := "constant"
	switch of.shape {
	case constant:
	case poisson:
		kind = "poisson"
	case closed:
		kind, stage = "concurrent", map[string]any{"concurrency_level": of.streams, "num_requests": of.requests}
	}
	return map[string]any{
		"api":  map[string]any{"type": "chat", "streaming": true},
		"load": map[string]any{"type": kind, "num_workers": 1, "interval": 0, "base_seed": 42, "stages": []any{stage}},
		"data": map[string]any{"type": "shared_prefix", "shared_prefix": map[string]any{"num_groups": 1,
			"num_prompts_per_group": 500,
			"system_prompt_len":     1, "question_len": 210, "output_len": of.output, "seed": 42}}, // about 1 kB
		"tokenizer": map[string]any{"pretrained_model_name_or_path": p.tokenizer},
	}
}

// inferenceSummary is what we read of the summary.
type inferenceSummary struct {
	Successes struct {
		Count      int
		Mismatches int `json:"token_count_mismatches"`
		Latency    struct {
			ITL map[string]float64 `json:"inter_token_latency"`
		}
	}
	Failures struct{ Count int }
}

// inferenceRow is what we read of a request; times are in seconds of the monotonic clock.
type inferenceRow struct {
	Start    float64 `json:"start_time"`
	Response string
	Error    json.RawMessage
	Info     struct {
		Metrics struct {
			Times []float64 `json:"output_token_times"`
		} `json:"response_metrics"`
	}
}

// responseID finds the id that the engine gave an answer.
var responseID = regexp.MustCompile(`"id":"((?:chat)?cmpl-[^"]+)"`)

func readInference(dir string) (claims, error) {
	var c claims
	data, err := os.ReadFile(filepath.Join(dir, "summary_lifecycle_metrics.json"))
	if err != nil {
		return c, nil // it made no summary
	}
	var s inferenceSummary
	if err := json.Unmarshal(data, &s); err != nil {
		return c, fmt.Errorf("reading the summary of inference-perf: %w", err)
	}
	c.summary, c.ok = true, s.Successes.Count
	c.errors, c.noticedLengths = s.Failures.Count, s.Successes.Mismatches > 0
	c.itlP99 = 1e3 * s.Successes.Latency.ITL["p99"]
	data, err = os.ReadFile(filepath.Join(dir, "per_request_lifecycle_metrics.json"))
	if err != nil {
		return c, fmt.Errorf("reading the requests of inference-perf: %w", err)
	}
	var rows []inferenceRow
	if err := json.Unmarshal(data, &rows); err != nil {
		return c, fmt.Errorf("reading the requests of inference-perf: %w", err)
	}
	for i := range rows {
		if row, ok := rows[i].row(); ok {
			c.rows = append(c.rows, row)
			c.gaps = c.gaps || len(row.Gaps) > 0
		}
	}
	return c, nil
}

// row is a request that was answered; false for one that failed.
func (r *inferenceRow) row() (report.Row, bool) {
	id := responseID.FindStringSubmatch(r.Response)
	if len(r.Error) > 0 && string(r.Error) != "null" || id == nil {
		return report.Row{}, false
	}
	var ttft *float64
	times := r.Info.Metrics.Times
	if len(times) > 0 {
		v := 1e3 * (times[0] - r.Start)
		ttft = &v
	}
	row := answered(engineID(id[1]), ttft)
	for i := 1; i < len(times); i++ {
		row.Gaps = append(row.Gaps, int32(1e6*(times[i]-times[i-1])))
	}
	return row, true
}
