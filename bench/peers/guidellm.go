package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/report"
)

// guideBlock is a load in GuideLLM's words.
func guideBlock(p *peer, of load) map[string]any {
	profile := map[string]any{"kind": "concurrent", "streams": of.streams}
	switch of.shape {
	case closed:
	case constant:
		profile = map[string]any{"kind": "constant", "rate": of.rate}
	case poisson:
		profile = map[string]any{"kind": "poisson", "rate": of.rate}
	}
	bound := map[string]any{"kind": "max_duration", "seconds": of.seconds}
	if of.seconds == 0 {
		bound = map[string]any{"kind": "max_requests", "count": of.requests}
	}
	return map[string]any{
		"profile": profile, "constraint": bound, "seed": 42, "tokenizer": p.tokenizer,
		"data": map[string]any{"kind": "synthetic_text", "prompt_tokens": 400, "output_tokens": of.output}, // about 1 kB
	}
}

// guideReport is what we read of benchmarks.json.
type guideReport struct {
	Benchmarks []struct {
		Warnings []struct{ Code string }
		Metrics  struct {
			RequestTotals struct{ Successful, Incomplete, Errored int } `json:"request_totals"`
			ITL           struct {
				Successful struct{ Percentiles map[string]float64 }
			} `json:"inter_token_latency_ms"`
		}
		Requests struct {
			Successful []struct {
				ResponseID string   `json:"response_id"`
				TTFT       *float64 `json:"time_to_first_token_ms"`
			}
		}
	}
}

// readGuide reads its report. Requests are known by the id that the engine gave the answer.
func readGuide(dir string) (claims, error) {
	var c claims
	data, err := os.ReadFile(filepath.Join(dir, "benchmarks.json"))
	if err != nil {
		return c, nil // it made no summary
	}
	var r guideReport
	if err := json.Unmarshal(data, &r); err != nil {
		return c, fmt.Errorf("reading the report of guidellm: %w", err)
	}
	for _, b := range r.Benchmarks {
		t := b.Metrics.RequestTotals
		c.summary, c.ok = true, c.ok+t.Successful
		c.errors, c.cut = c.errors+t.Errored, c.cut+t.Incomplete
		c.itlP99 = b.Metrics.ITL.Successful.Percentiles["p99"]
		for _, q := range b.Requests.Successful {
			c.rows = append(c.rows, answered(engineID(q.ResponseID), q.TTFT))
		}
		for _, w := range b.Warnings {
			c.noticedLengths = c.noticedLengths || strings.Contains(w.Code, "output") || strings.Contains(w.Code, "length")
		}
	}
	return c, nil
}

// engineID takes the request's id out of that of an answer.
func engineID(response string) string {
	return strings.TrimPrefix(strings.TrimPrefix(response, "chat"), "cmpl-")
}

// answered is a row of a tool: all that counts is the time between the send and the first token.
func answered(id string, ttftMS *float64) report.Row {
	row := report.Row{ID: id, Status: report.StatusOK, Phase: report.PhaseMeasured}
	if ttftMS != nil {
		var send int64
		first := int64(*ttftMS * 1e6)
		row.TSend, row.TFirst = &send, &first
	}
	return row
}
