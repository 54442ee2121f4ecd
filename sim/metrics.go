package sim

import (
	"strconv"

	"bflow.dev/bflow/sim/engine"
)

// load asks the pacer's thread for the state of the model; a server that closes has none.
func (s *Server) load() engine.Load {
	got := make(chan engine.Load, 1)
	s.pacer.Do(func(int64) { got <- s.model.Load() })
	select {
	case l := <-got:
		return l
	case <-s.closing:
		return engine.Load{}
	}
}

// metrics returns the text exposition, with the names of vLLM.
func (s *Server) metrics() []byte {
	p := newPage(s.cfg.Models[0])
	s.exposeLoad(p, s.load())
	s.exposeRequests(p)
	s.exposeSelf(p)
	return []byte(p.String())
}

func (s *Server) exposeLoad(p *page, l engine.Load) {
	p.writeValue("vllm:num_requests_running", "gauge", "Requests in the batch.", float64(l.Running))
	p.writeValue("vllm:num_requests_waiting", "gauge", "Requests that wait to be scheduled.", float64(l.Waiting))
	p.writeValue("vllm:kv_cache_usage_perc", "gauge", "Share of the KV cache in use, 1 is all of it.", l.KVUsed)
	p.writeValue("vllm:prefix_cache_queries_total", "counter", "Prompt tokens looked up in the prefix cache.",
		float64(l.PrefixQueries))
	p.writeValue("vllm:prefix_cache_hits_total", "counter", "Prompt tokens found in the prefix cache.",
		float64(l.PrefixHits))
	p.writeValue("vllm:num_preemptions_total", "counter", "Sequences that lost their KV cache and started over.",
		float64(l.Preemptions))
	p.writeFamily("vllm:cache_config_info", "gauge", "Configuration of the KV cache.")
	p.writeSample("vllm:cache_config_info", `,block_size="`+strconv.Itoa(engine.BlockSize)+`",num_gpu_blocks="`+
		strconv.Itoa(l.KVBlocks)+`",enable_prefix_caching="`+pythonBool(s.cfg.PrefixCache)+`"`, 1)
}

// pythonBool spells b as the labels of vLLM do.
func pythonBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

func (s *Server) exposeRequests(p *page) {
	st := s.stats
	p.writeValue("vllm:prompt_tokens_total", "counter", "Prompt tokens of requests whose prompt was read.",
		float64(st.prompt.Load()))
	p.writeValue("vllm:generation_tokens_total", "counter", "Output tokens made.", float64(st.generation.Load()))
	p.writeFamily("vllm:request_success_total", "counter", "Finished requests by reason.")
	for i, reason := range [finishReasons]string{"stop", "length", "abort", "error"} {
		p.writeSample("vllm:request_success_total", `,finished_reason="`+reason+`"`, float64(st.success[i].Load()))
	}
	p.writeHistogram("vllm:time_to_first_token_seconds", "Arrival to first token.", st.ttft)
	p.writeHistogram("vllm:inter_token_latency_seconds", "Time between tokens of a request.", st.itl)
	p.writeHistogram("vllm:request_time_per_output_token_seconds",
		"Mean time per token after the first, per request.", st.tpot)
	p.writeHistogram("vllm:e2e_request_latency_seconds", "Arrival to last token.", st.e2e)
	p.writeHistogram("vllm:request_queue_time_seconds", "Arrival to being scheduled.", st.queue)
	p.writeHistogram("vllm:request_prefill_time_seconds", "Being scheduled to first token.", st.prefill)
	p.writeHistogram("vllm:request_decode_time_seconds", "First to last token.", st.decode)
	p.writeHistogram("vllm:request_inference_time_seconds", "Being scheduled to last token.", st.inference)
	p.writeHistogram("vllm:request_prompt_tokens", "Prompt tokens per request.", st.promptLen)
	p.writeHistogram("vllm:request_generation_tokens", "Output tokens per request.", st.outputLen)
	p.writeHistogram("vllm:request_params_max_tokens", "Output tokens asked for per request.", st.maxTokens)
	p.writeHistogram("vllm:request_params_n", "Answers asked for per request.", st.nn)
}

func (s *Server) exposeSelf(p *page) {
	u := s.usage()
	p.writeHistogram("bflow_sim_send_lateness_seconds", "How much later than due tokens were sent.", s.stats.lateness)
	p.writeValue("bflow_sim_events_total", "counter", "Sends with tokens.", float64(s.stats.events.Load()))
	p.writeValue("bflow_sim_blocked_writes_total", "counter", "Requests' sends that had to wait for the client to read.",
		float64(s.stats.blocked.Load()))
	p.writeValue("bflow_sim_run_delay_seconds_total", "counter", "Time that threads waited for a processor.", u.RunDelay)
	p.writeValue("process_cpu_seconds_total", "counter", "Processor time, user and system.", u.CPU)
	p.writeValue("process_start_time_seconds", "gauge", "Start of the engine in Unix time.",
		float64(s.clock.Wall(s.begun))/1e9)
}
