package imports_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/report"
)

func TestRealInferencePerfReportsFieldForField(t *testing.T) {
	const dir = "testdata/inference-perf-0.7.0"
	stage := raw(t, dir+"/stage_0_lifecycle_metrics.json")
	ok := at(stage, "successes")
	out, r := imported(t, dir)
	s, rows := pooled(r), rowsOf(t, out)
	if r.Plan.Deployment.Model.Name != "ref-model" || r.Measurements[0].TokenCountSource != "tokenizer" ||
		s.Planned.Concurrency != 2 || s.Counts.ByStatus[report.StatusOK] != 4 {
		t.Errorf("model %q, source %q, stage %+v, counts %+v",
			r.Plan.Deployment.Model.Name, r.Measurements[0].TokenCountSource, s.Planned, s.Counts)
	}
	for ours, theirs := range map[string]string{"e2e": "request_latency", "ntpot": "normalized_time_per_output_token",
		"tpot": "time_per_output_token",
		"ttfc": "time_to_first_token", "itl": "inter_token_latency", "itl_perceived": "inter_token_latency"} {
		m := s.Metrics[ours]
		near(t, ours+" mean", m.Mean, 1e3*num(t, ok, "latency", theirs, "mean"), 1e-4)
		near(t, ours+" max", m.Max, 1e3*num(t, ok, "latency", theirs, "max"), 1e-4)
		for q, key := range map[string]string{"p0_1": "p0.1", "p25": "p25", "p50": "median", "p99_9": "p99.9"} {
			near(t, ours+" "+q, m.Quantiles[q], 1e3*num(t, ok, "latency", theirs, key), 1e-4)
		}
	}
	if _, has := s.Metrics["ttft"]; has {
		t.Error("its time to first token is to the first content, and was taken for ttft")
	}
	near(t, "delay from the schedule", s.Metrics["sched_lag"].Mean,
		1e3*num(t, stage, "load_summary", "schedule_delay", "mean"), 1e-9)
	near(t, "request rate", s.Rates["request_rate"], num(t, ok, "throughput", "requests_per_sec"), 1e-9)
	near(t, "achieved rate", s.Rates["achieved_rate"], num(t, stage, "load_summary", "achieved_rate"), 1e-9)
	near(t, "tokens in", s.Metrics["tokens_in"].Mean, num(t, ok, "prompt_tokens", "mean"), 0)
	near(t, "all tokens out", float64(s.Tokens.Out), num(t, ok, "output_tokens", "total"), 0)
	near(t, "length", s.WindowS, num(t, stage, "benchmark_time_seconds"), 1e-6)
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	list := raw(t, dir+"/per_request_lifecycle_metrics.json").([]any)
	slices.SortFunc(list, func(a, b any) int { return int(1e9 * (num(t, a, "start_time") - num(t, b, "start_time"))) })
	for i, want := range list {
		got := rows[fmt.Sprintf("request-%d", i)]
		near(t, "e2e", ms(got.TSend, got.TEnd), 1e3*(num(t, want, "end_time")-num(t, want, "start_time")), 1e-4)
		near(t, "first", ms(got.TSend, got.TFirst),
			1e3*(num(t, want, "info", "response_metrics", "chunk_times", 0)-num(t, want, "start_time")), 1e-4)
		near(t, "tokens", float64(*got.TokensOut), num(t, want, "info", "response_metrics", "output_tokens"), 0)
		if len(got.Gaps) != 7 || *got.Events != 8 {
			t.Errorf("gaps %v, events %v", got.Gaps, *got.Events)
		}
	}
}

func TestInferencePerfFailures(t *testing.T) {
	for file, class := range map[string]string{"G500": report.ErrHTTP5xx, "Gcut": report.ErrTruncated} {
		path := "testdata/inference-perf-0.7.0-failures/" + file + "-summary_lifecycle_metrics.json"
		want := int(num(t, raw(t, path), "failures", "count"))
		_, r := imported(t, path)
		s := pooled(r)
		if s.Counts.ByStatus[report.StatusFailed] != want || s.Counts.ByClass[class] != want ||
			r.Verdict.Verdict != report.NotJudged || r.Verdict.ExitCode != 0 || len(s.Metrics) != 1 {
			t.Errorf("%s: counts %+v, verdict %s, metrics %v", file, s.Counts, r.Verdict.Verdict, s.Metrics)
		}
	}
	_, r := imported(t, "testdata/inference-perf-0.7.0-failures/Gsse-summary_lifecycle_metrics.json")
	if got := pooled(r).Counts.ByStatus[report.StatusOK]; got != 10 {
		t.Errorf("the tool counts error events as success: %d of 10", got)
	}
}

func TestInferencePerfErrorEventsAreRemarkedOn(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile("testdata/inference-perf-0.7.0/per_request_lifecycle_metrics.json")
	check(t, err)
	text := strings.Replace(string(data), `data: [DONE]`, `data: {\"error\":{\"message\":\"engine died\"}}`, 1)
	check(t, os.WriteFile(filepath.Join(dir, "per_request_lifecycle_metrics.json"), []byte(text), 0o644))
	data, err = os.ReadFile("testdata/inference-perf-0.7.0/summary_lifecycle_metrics.json")
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, "summary_lifecycle_metrics.json"), data, 0o644))
	_, r := imported(t, dir)
	if !strings.Contains(strings.Join(r.Measurements[0].Notes, "\n"),
		"1 requests that inference-perf counts as successful have an error event") {
		t.Errorf("notes %q", r.Measurements[0].Notes)
	}
}

func lines(t *testing.T, path string) []any {
	t.Helper()
	f, err := os.Open(path)
	check(t, err)
	defer f.Close()
	var out []any
	for in := bufio.NewScanner(f); in.Scan(); {
		var v any
		check(t, json.Unmarshal(in.Bytes(), &v))
		out = append(out, v)
	}
	return out
}

func TestRealAIPerfArtifactsFieldForField(t *testing.T) {
	const dir = "testdata/aiperf-0.13.0"
	doc := raw(t, dir+"/profile_export_aiperf.json")
	out, r := imported(t, dir)
	m, s, rows := r.Measurements[0], pooled(r), rowsOf(t, out)
	if m.ToolVersion != "0.13.0" || r.Plan.Deployment.Model.Name != "ref-model" || s.Planned.Concurrency != 2 ||
		s.Counts.ByStatus[report.StatusOK] != 4 || s.Counts.Total != 4 {
		t.Errorf("version %q, model %q, stage %+v, counts %+v",
			m.ToolVersion, r.Plan.Deployment.Model.Name, s.Planned, s.Counts)
	}
	for ours, theirs := range map[string]string{"ttft": "time_to_first_token", "ttfc": "time_to_first_output_token",
		"tpot": "inter_token_latency",
		"itl":  "inter_chunk_latency", "e2e_last_token": "request_latency", "tokens_in": "input_sequence_length",
		"tokens_out": "output_sequence_length"} {
		got := s.Metrics[ours]
		near(t, ours+" mean", got.Mean, num(t, doc, theirs, "avg"), 1e-4)
		near(t, ours+" stdev", got.Stdev, num(t, doc, theirs, "std"), 1e-4)
		near(t, ours+" n", float64(got.N), num(t, doc, theirs, "count"), 0)
		for _, q := range []string{"p1", "p25", "p50", "p99"} {
			near(t, ours+" "+q, got.Quantiles[q], num(t, doc, theirs, q), 1e-4)
		}
	}
	if _, has := s.Metrics["e2e"]; has {
		t.Error("its request latency ends with the last token, and was taken for e2e")
	}
	near(t, "request rate", s.Rates["request_rate"], num(t, doc, "request_throughput", "avg"), 1e-9)
	near(t, "output token rate", s.Rates["output_token_rate"], num(t, doc, "output_token_throughput", "avg"), 1e-9)
	for _, want := range lines(t, dir+"/profile_export.jsonl") {
		got := rows[at(want, "metadata", "x_request_id").(string)]
		near(t, "ttft", ms(got.TSend, got.TFirst), num(t, want, "metrics", "time_to_first_token", "value"), 1e-5)
		near(t, "last token", ms(got.TSend, got.TLast), num(t, want, "metrics", "request_latency", "value"), 1e-5)
		near(t, "tokens out", float64(*got.TokensOut), num(t, want, "metrics", "output_sequence_length", "value"), 0)
		near(t, "waited", ms(&got.TIntended, got.TSend),
			(num(t, want, "metadata", "request_start_ns")-num(t, want, "metadata", "credit_issued_ns"))/1e6, 1e-3)
		gaps := at(want, "metrics", "inter_chunk_latency", "value").([]any)
		for i, g := range gaps {
			near(t, "gap", float64(got.Gaps[i])/1e3, g.(float64), 1.1e-3)
		}
	}
}

func TestAIPerfFailures(t *testing.T) {
	for file, class := range map[string]string{"G500": report.ErrHTTP5xx, "Gcut": report.ErrTruncated} {
		path := "testdata/aiperf-0.13.0-failures/" + file + "-profile_export.jsonl"
		_, r := imported(t, path)
		if s := pooled(r); s.Counts.ByStatus[report.StatusFailed] != len(lines(t, path)) ||
			s.Counts.ByClass[class] != 10 || *s.ErrorRate != 1 {
			t.Errorf("%s: counts %+v", file, s.Counts)
		}
	}
	_, r := imported(t, "testdata/aiperf-0.13.0-failures/Gsse-profile_export.jsonl")
	s := pooled(r)
	if s.Counts.ByStatus[report.StatusOK] != 10 || !strings.Contains(strings.Join(r.Measurements[0].Notes, "\n"),
		"10 requests that AIPerf counts as successful have at most half") {
		t.Errorf("counts %+v, notes %q", s.Counts, r.Measurements[0].Notes)
	}
}

func TestWarmUpRowsOfAIPerfAreNoResults(t *testing.T) {
	data, err := os.ReadFile("testdata/aiperf-0.13.0/profile_export.jsonl")
	check(t, err)
	text := strings.Replace(string(data), `"benchmark_phase":"profiling"`, `"benchmark_phase":"warmup"`, 1)
	path := filepath.Join(t.TempDir(), "profile_export.jsonl")
	check(t, os.WriteFile(path, []byte(text), 0o644))
	_, r := imported(t, path)
	if got := pooled(r).Counts.Total; got != 3 {
		t.Errorf("%d requests, want 3", got)
	}
}

const vllm = `{"date":"20261121-101500","endpoint_type":"openai-chat","backend":"openai-chat","label":null,"model_id":"m","tokenizer_id":"m","num_prompts":3,
"request_rate":"inf","burstiness":1.0,"max_concurrency":2,"duration":2.0,"completed":2,"failed":1,"total_input_tokens":20,"total_output_tokens":7,
"request_throughput":1.0,"request_goodput":null,"output_throughput":3.5,"total_token_throughput":13.5,"max_output_tokens_per_s":4.0,
"mean_ttft_ms":55.0,"median_ttft_ms":55.0,"std_ttft_ms":5.0,"p99_ttft_ms":59.9,"p99.9_ttft_ms":60.0,"mean_tpot_ms":10.0,"median_tpot_ms":10.0,"std_tpot_ms":0.0,"p99_tpot_ms":10.0`

func TestVLLMSummary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	check(t, os.WriteFile(path, []byte(vllm+"}"), 0o644))
	dir, r := imported(t, path)
	s := pooled(r)
	m := s.Metrics["ttft"]
	if s.Planned.Shape != "closed" || s.Planned.Concurrency != 2 || s.Counts.ByStatus[report.StatusFailed] != 1 ||
		m.N != 2 || m.Quantiles["p99_9"] != 60 || m.Has("max") || m.Has("p95") {
		t.Errorf("stage %+v, counts %+v, ttft %+v", s.Planned, s.Counts, m)
	}
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	check(t, err)
	if text := string(data); strings.Contains(text, `"min": 0`) {
		t.Error("a least value that nobody gave is 0 in the report")
	}
	html, err := os.ReadFile(filepath.Join(dir, "report.html"))
	check(t, err)
	if strings.Contains(string(html), "NaN") {
		t.Error("the page holds NaN")
	}
}

// TestVLLMGoodputOfEveryRelease: the older ones have a colon in the name of its key.
func TestVLLMGoodputOfEveryRelease(t *testing.T) {
	for key, want := range map[string]float64{`"request_goodput":0.5`: .5, `"request_goodput:":0.5`: .5,
		`"request_goodput":null,"request_goodput:":0.5`: .5} {
		path := filepath.Join(t.TempDir(), "r.json")
		check(t, os.WriteFile(path, []byte(strings.Replace(vllm, `"request_goodput":null`, key, 1)+"}"), 0o644))
		_, r := imported(t, path)
		g := pooled(r).Goodput
		if g == nil || g.RequestsPerS != want || g.Good != 1 || g.Of != 3 {
			t.Errorf("%s: goodput %+v, want 1 of 3 requests", key, g)
		}
	}
}

func TestVLLMAppendedLinesAndDetails(t *testing.T) {
	one := strings.ReplaceAll(vllm, "\n", "")
	detailed := one + `,"input_lens":[10,10,10],"output_lens":[4,3,0],"ttfts":[0.05,0.06,0],"itls":[[0.01,0.01,0.01],[0.01,0.012],[]],"start_times":[100.5,100.6,100.7],
"generated_texts":["a","b",""],"errors":["","","Traceback: asyncio.TimeoutError"]}`
	path := filepath.Join(t.TempDir(), "r.json")
	check(t, os.WriteFile(path, []byte(one+"}\n"+strings.ReplaceAll(detailed, "\n", "")+"\n"), 0o644))
	dir, r := imported(t, path)
	stages := r.Measurements[0].Pooled.Stages
	if len(stages) != 2 {
		t.Fatalf("%d stages", len(stages))
	}
	s, rows := stages[1], rowsOf(t, dir)
	near(t, "ttft", s.Metrics["ttft"].Mean, 55, 1e-6)
	near(t, "tpot", s.Metrics["tpot"].Mean, (30.0/3+22.0/2)/2, 1e-6)
	near(t, "itl", s.Metrics["itl"].Mean, 52.0/5, 1e-6)
	near(t, "end of the last token", ms(rows["request-1"].TSend, rows["request-1"].TLast), 82, 1e-6)
	near(t, "start", ms(rows["request-0"].TSend, rows["request-1"].TSend), 100, 1e-3)
	if got := rows["request-2"]; got.Status != report.StatusTimeout || s.Counts.ByStatus[report.StatusTimeout] != 1 ||
		s.Counts.Total != 3 {
		t.Errorf("row %+v, counts %+v", got, s.Counts)
	}
}
