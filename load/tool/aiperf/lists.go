package aiperf

// toolOnly are flags of `aiperf profile` that the native generator does not have.
func toolOnly() []string {
	return []string{
		"prefill_concurrency", "request_rate_series", "user_centric_rate", "num_users", "seq_dist", "sequence_distribution",
		"random_range_ratio", "user_context_prompt_length", "max_context_length", "scenario", "hf_weka_repo",
		"hf_weka_dataset", "hf_subset", "accuracy_benchmark", "accuracy_tasks", "accuracy_n_shots", "accuracy_enable_cot",
		"accuracy_grader", "accuracy_system_prompt", "num_workers", "agentic_cache_warmup_duration",
		"agentic_warmup_grace_period", "warmup_prefill_concurrency", "warmup_concurrency_ramp_duration",
		"warmup_prefill_concurrency_ramp_duration", "warmup_request_rate_ramp_duration", "prefill_concurrency_ramp_duration",
		"ignore_trace_delays", "use_think_time_only", "trace_session_sample_ratio", "inter_turn_delay_cap_seconds",
		"max_idle_gap_cap_seconds", "open_loop_strict", "trace_idle_gap_cap_seconds", "system_idle_gap_cap_seconds",
		"burst_phase_starts", "failed_request_threshold", "system_prompt", "system_prompt_file", "dataset_filter",
		"prompt_corpus", "convergence_metric", "convergence_threshold", "search_space", "search_metric", "search_stat",
		"search_direction", "search_max_iterations", "search_initial_points", "search_random_seed", "search_planner",
		"search_percentile_pooling", "search_sla", "search_sla_tier", "search_recipe", "search_style", "variant",
		"sweep_variant", "optuna_sampler", "optuna_acquisition", "optuna_terminator", "bo_constraint_mode", "ttft_sla_ms",
		"itl_sla_ms", "tpot_sla_ms", "e2e_sla_ms", "error_rate_sla", "slo_attainment_fraction", "degradation_threshold",
		"degradation_metric_tag", "degradation_stat", "isl_osl_pairs", "isl_min", "isl_max", "isl_steps", "osl_min",
		"osl_max", "osl_steps", "concurrency_min", "concurrency_max", "concurrency_steps", "reset_kv_cache_path",
		"reset_kv_cache_timeout_seconds", "server_profiler_start_path", "server_profiler_stop_path",
		"server_profiler_timeout_seconds", "config", "request_content_type", "session_header", "dataset_sampling_strategy",
		"image_source",
	}
}

// defaults are flags whose default the native generator has; another value needs the tool itself.
func defaults() map[string]string {
	return map[string]string{
		"conversation_turn_delay_stddev": "0", "conversation_turn_delay_stdev": "0", "session_turn_delay_stddev": "0",
		"conversation_turn_delay_ratio": "1", "session_delay_ratio": "1", "synthesis_prefix_len_multiplier": "1",
		"synthesis_prefix_root_multiplier": "1", "synthesis_prompt_len_multiplier": "1",
		"synthesis_output_len_multiplier": "1", "prompt_batch_size": "1", "batch_size_text": "1", "batch_size": "1",
		"reset_kv_cache": "false", "server_profiler": "false", "cache_bust": "none", "download_video_content": "false",
		"uuid_and_strip": "false", "apply_chat_template": "false", "sweep_type": "grid",
		"model_selection_strategy": "round_robin", "open_loop_replay": "true", "trajectory_start_min_ratio": "0.25",
		"trajectory_start_max_ratio": "0.75", "omit_kv_hints": "false", "audio_length_mean": "0", "audio_length_stddev": "0",
		"image_width_stddev": "0", "image_height_stddev": "0", "video_width": "", "video_height": "",
		"unsafe_override": "false", "convergence_mode": "", "convergence_stat": "",
	}
}

// quiet are flags that change nothing that is measured.
func quiet() []string {
	return []string{
		"use_server_token_count", "per_chunk_usage", "tokenizer", "tokenizer_revision", "tokenizer_trust_remote_code",
		"export_level", "profile_export_level", "export_http_trace", "profile_export_prefix", "profile_export_file",
		"use_legacy_max_tokens", "ui", "ui_type", "verbose", "extra_verbose", "log_level", "workers_max", "max_workers",
		"workers_min", "record_processors", "record_processor_service_count", "connection_reuse_strategy", "gpu_telemetry",
		"no_gpu_telemetry", "server_metrics", "no_server_metrics", "server_metrics_formats", "wait_for_model_timeout",
		"wait_for_model_mode", "wait_for_model_interval", "transport", "transport_type", "url_strategy", "allow_dataset_wrap",
		"force_min_tokens", "prompt_input_tokens_block_size", "synthetic_input_tokens_block_size", "isl_block_size",
		"random_corpus_style", "auto_plot", "plot_required", "export_outputs_json", "otel_url", "stream",
		"otel_resource_attributes", "gen_ai_provider", "mlflow_tracking_uri", "mlflow_experiment", "mlflow_run_name",
		"mlflow_tag", "mlflow_parent_run_id", "mlflow_artifact_glob", "wandb_project", "wandb_entity", "wandb_run_name",
		"wandb_tag", "show_trace_timing", "network_latency_automatic", "network_latency_mean",
		"network_latency_ping_interval", "profile_run_cooldown_seconds", "confidence_level",
		"profile_run_disable_warmup_after_first", "set_consistent_seed", "vary_seed_per_trial",
		"parameter_sweep_cooldown_seconds", "parameter_sweep_same_seed", "parameter_sweep_mode", "no_sweep_table",
		"accuracy_verbose", "api_port", "api_host", "stats_interval", "zmq_host", "zmq_ipc_path", "zmq_dual_bind",
		"audio_batch_size", "batch_size_audio", "audio_format", "audio_depths", "audio_sample_rates", "audio_num_channels",
		"image_source_sampling", "image_format", "video_batch_size", "batch_size_video", "video_duration", "video_fps",
		"video_synth_type", "video_format", "video_codec", "video_audio_sample_rate", "video_audio_num_channels",
		"video_audio_codec", "video_audio_depth", "rankings_passages_mean", "rankings_passages_stddev",
		"rankings_passages_prompt_token_mean", "rankings_passages_prompt_token_stddev", "rankings_query_prompt_token_mean",
		"rankings_query_prompt_token_stddev",
	}
}
