package assemble

// catalogueEntry names one thing that engines count, under the names they give it. The first name that is there wins.
// Engines write counters with and without _total, and platforms put a prefix before the names: see plainName.
type catalogueEntry struct {
	id    string
	names []string
}

// counters only rise while an engine lives.
func counters() []catalogueEntry {
	return []catalogueEntry{
		{"prompt_tokens", []string{"vllm:prompt_tokens", "sglang:prompt_tokens"}},
		{"generation_tokens", []string{"vllm:generation_tokens", "sglang:generation_tokens"}},
		{"requests_finished", []string{"vllm:request_success", "sglang:num_requests", "tgi_request_success"}},
		{"preemptions", []string{"vllm:num_preemptions"}},
		{"prefix_cache_queries", []string{"vllm:prefix_cache_queries"}},
		{"prefix_cache_hits", []string{"vllm:prefix_cache_hits", "sglang:cached_tokens"}},
	}
}

// gauges are summed over replicas, shares are averaged.
func gauges() []catalogueEntry {
	return []catalogueEntry{
		{"requests_running", []string{"vllm:num_requests_running", "sglang:num_running_reqs", "tgi_batch_current_size"}},
		{"requests_waiting", []string{"vllm:num_requests_waiting", "sglang:num_queue_reqs", "tgi_queue_size"}},
		{shareKVCache, []string{"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"}},
	}
}

const shareKVCache = "kv_cache_usage"

// histograms hold seconds.
func histograms() []catalogueEntry {
	return []catalogueEntry{
		{"ttft", []string{"vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds"}},
		{"itl", []string{"vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds",
			"sglang:inter_token_latency_seconds", "tgi_request_mean_time_per_token_duration"}},
		{"e2e", []string{"vllm:e2e_request_latency_seconds", "sglang:e2e_request_latency_seconds", "tgi_request_duration"}},
		{"queue_time",
			[]string{"vllm:request_queue_time_seconds", "sglang:queue_time_seconds", "tgi_request_queue_duration"}},
		{"prefill_time", []string{"vllm:request_prefill_time_seconds"}},
		{"decode_time", []string{"vllm:request_decode_time_seconds"}},
		{"inference_time", []string{"vllm:request_inference_time_seconds", "tgi_request_inference_duration"}},
	}
}
