package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bflow.dev/bflow/bench/truth"
)

// aiperfBlock is a load in AIPerf's words. It tells the tool everything that spares it work.
func aiperfBlock(p *peer, of load) map[string]any {
	b := map[string]any{
		"endpoint_type": "chat", "tokenizer": p.tokenizer, "random_seed": 42, "extra_inputs": "ignore_eos:true",
		"use_server_token_count": true,
		"isl":                    380, "isl_stddev": 0, "osl": of.output, "osl_stddev": 0, // about 1 kB
		"workers_max": 1, "no_gpu_telemetry": true, "no_server_metrics": true,
	}
	switch of.shape {
	case closed:
		b["concurrency"] = of.streams
	case constant:
		b["request_rate"], b["arrival_pattern"] = of.rate, "constant"
	case poisson:
		b["request_rate"], b["arrival_pattern"] = of.rate, "poisson"
	}
	if of.seconds > 0 {
		b["benchmark_duration"], b["benchmark_grace_period"] = of.seconds, 5
	} else {
		b["request_count"] = of.requests
	}
	return b
}

// aiperfRow is what we read of a line of profile_export.jsonl.
type aiperfRow struct {
	Metadata struct {
		ID        string `json:"x_request_id"`
		Phase     string `json:"benchmark_phase"`
		Cancelled bool   `json:"was_cancelled"`
	}
	Metrics map[string]struct{ Value json.RawMessage }
	Error   json.RawMessage
}

func readAIPerf(dir string) (claims, error) {
	var c claims
	_, err := os.Stat(filepath.Join(dir, "profile_export_aiperf.json"))
	c.summary = err == nil
	console, err := os.ReadFile(filepath.Join(dir, "profile_export_console.txt"))
	c.noticedLengths = err == nil && strings.Contains(string(console), "osl_mismatch") // in its warning
	f, err := os.Open(filepath.Join(dir, "profile_export.jsonl"))
	if err != nil {
		return c, nil // it left nothing
	}
	defer f.Close()
	dec := json.NewDecoder(bufio.NewReader(f))
	var gaps []float64
	for {
		var r aiperfRow
		switch err := dec.Decode(&r); {
		case errors.Is(err, io.EOF):
			if len(gaps) > 0 {
				slices.Sort(gaps)
				c.itlP99 = truth.Quantiles(gaps, 99)[0]
			}
			return c, nil
		case err != nil:
			return c, fmt.Errorf("reading the rows of aiperf: %w", err)
		}
		gaps = append(gaps, c.addAIPerf(&r)...)
	}
}

// addAIPerf counts a row and returns its gaps in ms.
func (c *claims) addAIPerf(r *aiperfRow) []float64 {
	switch {
	case r.Metadata.Phase == "warmup":
		return nil
	case r.Metadata.Cancelled:
		c.cut++
		return nil
	case len(r.Error) > 0 && string(r.Error) != "null":
		c.errors++
		return nil
	}
	c.ok++
	var ttft *float64
	var gaps []float64
	_ = json.Unmarshal(r.Metrics["time_to_first_token"].Value, &ttft) // absent: a row without
	_ = json.Unmarshal(r.Metrics["inter_chunk_latency"].Value, &gaps)
	row := answered(r.Metadata.ID, ttft)
	for _, g := range gaps {
		row.Gaps = append(row.Gaps, int32(g*1e3))
	}
	c.gaps = c.gaps || len(gaps) > 0
	c.rows = append(c.rows, row)
	return gaps
}
