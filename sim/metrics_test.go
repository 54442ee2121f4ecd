package sim

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"bflow.dev/bflow/runplan"
)

// scrape reads the metrics as a Prometheus server does: the value of each series without its common labels, and the
// sum and count of histograms.
func scrape(t *testing.T, s *Server) map[string]float64 {
	t.Helper()
	a := call(t, s, "GET", "/metrics", "")
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for name, f := range families {
		for _, m := range f.Metric {
			key := name
			for _, l := range m.Label {
				if l.GetName() == "finished_reason" {
					key += ":" + l.GetValue()
				}
			}
			switch {
			case m.Histogram != nil:
				values[key+"_sum"], values[key+"_count"] = m.Histogram.GetSampleSum(), float64(m.Histogram.GetSampleCount())
			case m.Counter != nil:
				values[key] = m.Counter.GetValue()
			case m.Gauge != nil:
				values[key] = m.Gauge.GetValue()
			}
		}
	}
	return values
}

func TestMetricsAgreeWithTheTruth(t *testing.T) {
	s := listen(t, Config{Models: []string{"m"}, Sim: runplan.Sim{TTFT: ms(20), ITL: ms(2)}})
	for range 3 {
		call(t, s, "POST", "/v1/chat/completions", chatBody(10, ""))
	}
	call(t, s, "POST", "/v1/chat/completions", strings.Replace(chatBody(5, ""), `"stream":true,`, "", 1))
	call(t, s, "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"a"}]}`)
	prompt, output := 0, 0
	for _, r := range ended(t, s, 5) {
		prompt += r.PromptTokens
		output += r.OutputTokens
	}
	got := scrape(t, s)
	for name, v := range map[string]float64{
		"vllm:prompt_tokens_total":                         float64(prompt),
		"vllm:generation_tokens_total":                     float64(output),
		"vllm:request_success_total:length":                4,
		"vllm:request_success_total:stop":                  1,
		"vllm:request_success_total:abort":                 0,
		"vllm:num_requests_running":                        0,
		"vllm:num_requests_waiting":                        0,
		"vllm:kv_cache_usage_perc":                         0,
		"vllm:prefix_cache_queries_total":                  0,
		"vllm:prefix_cache_hits_total":                     0,
		"vllm:num_preemptions_total":                       0,
		"vllm:cache_config_info":                           1,
		"vllm:time_to_first_token_seconds_count":           5,
		"vllm:inter_token_latency_seconds_count":           float64(output - 5),
		"vllm:request_time_per_output_token_seconds_count": 5,
		"vllm:e2e_request_latency_seconds_count":           5,
		"vllm:request_queue_time_seconds_count":            5,
		"vllm:request_prefill_time_seconds_count":          5,
		"vllm:request_decode_time_seconds_count":           5,
		"vllm:request_inference_time_seconds_count":        5,
		"vllm:request_prompt_tokens_sum":                   float64(prompt),
		"vllm:request_generation_tokens_sum":               float64(output),
		"vllm:request_params_max_tokens_count":             5,
		"vllm:request_params_n_sum":                        5,
	} {
		if have, ok := got[name]; !ok || have != v {
			t.Errorf("%s is %v (present: %v), want %v", name, have, ok, v)
		}
	}
	if mean := got["vllm:time_to_first_token_seconds_sum"] / 5; mean < .020 || mean > .5 {
		t.Errorf("mean ttft %v s, want a little more than 0.020", mean)
	}
	if got["bflow_sim_send_lateness_seconds_count"] == 0 || got["process_cpu_seconds_total"] == 0 {
		t.Error("the engine says nothing of its own lateness or processor time")
	}
}

func TestGaugesWhileRequestsRun(t *testing.T) {
	s := listen(t, Config{Models: []string{"m"}, Sim: runplan.Sim{
		PrefillTokensPerS: 1e6, DecodeTokensPerS: 100, MaxNumSeqs: 1, KVTokens: 160,
	}})
	body := `{"prompt":"` + words(70) + `","max_tokens":80,"stream":true}`
	a, b := dial(t, s), dial(t, s)
	send(t, a, post("/v1/completions", body))
	send(t, b, post("/v1/completions", body))
	for s.load().Running != 1 || s.load().Waiting != 1 {
	}
	got := scrape(t, s)
	want(t, "running", got["vllm:num_requests_running"], 1)
	want(t, "waiting", got["vllm:num_requests_waiting"], 1)
	if used := got["vllm:kv_cache_usage_perc"]; used < .5 || used > 1 {
		t.Errorf("KV cache used %v, want at least the 5 of 10 blocks of the prompt", used)
	}
}

func TestStatsEndpoint(t *testing.T) {
	s := listen(t, Config{Models: []string{"m"}, Sim: runplan.Sim{TTFT: ms(2)}})
	call(t, s, "POST", "/v1/chat/completions", chatBody(3, ""))
	var st Stats
	if err := json.Unmarshal([]byte(call(t, s, "GET", "/sim/stats", "").body), &st); err != nil {
		t.Fatal(err)
	}
	if st.Requests != 1 || st.Tokens != 3 || st.Lateness.Count == 0 || st.CPU <= 0 || st.Uptime <= 0 {
		t.Errorf("stats %+v", st)
	}
	call(t, s, "DELETE", "/sim/stats", "")
	want(t, "lateness after a reset", s.Stats().Lateness.Count, 0)
}

func TestTheFineHistogramIsWithinItsError(t *testing.T) {
	for _, v := range []int64{0, 1, 63, 64, 65, 127, 128, 1000, 12345, 1e6, 1e9, math.MaxInt64} {
		if top := slotMax(slot(v)); top < v || float64(top-v) > float64(v)/64 {
			t.Errorf("%d lies in a slot up to %d", v, top)
		}
	}
	var f fineHistogram
	for v := range int64(10_000) {
		f.add(v)
	}
	if p := f.quantile(.99); p < 9900 || p > 10_060 {
		t.Errorf("p99 of 0 to 9999 is %d", p)
	}
	want(t, "maximum", f.quantile(1), 9999)
}
