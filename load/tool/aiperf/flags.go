package aiperf

// switches, lists and values are the flags of `aiperf profile` 0.13.0 by what they take.
func switches() []string {
	return []string{
		"streaming", "reset-kv-cache", "server-profiler", "use-legacy-max-tokens", "use-server-token-count",
		"per-chunk-usage", "download-video-content", "uuid-and-strip", "tokenizer-trust-remote-code", "apply-chat-template",
		"ignore-trace-delays", "use-think-time-only", "allow-dataset-wrap", "fixed-schedule", "no-fixed-schedule",
		"fixed-schedule-auto-offset", "open-loop-replay", "open-loop-strict", "omit-kv-hints", "force-min-tokens",
		"burst-phase-starts", "unsafe-override", "auto-plot", "plot-required", "export-outputs-json", "export-http-trace",
		"show-trace-timing", "no-server-metrics", "network-latency-automatic", "no-gpu-telemetry",
		"profile-run-disable-warmup-after-first", "set-consistent-seed", "vary-seed-per-trial", "parameter-sweep-same-seed",
		"no-sweep-table", "accuracy-enable-cot", "accuracy-verbose", "verbose", "extra-verbose", "zmq-dual-bind",
	}
}

func lists() []string {
	return []string{
		"model-names", "url", "extra-inputs", "header", "dataset-filter", "audio-depths", "audio-sample-rates", "stream",
		"otel-resource-attributes", "mlflow-tag", "mlflow-artifact-glob", "wandb-tag", "server-metrics",
		"server-metrics-formats", "gpu-telemetry", "search-space", "variant", "search-sla", "search-sla-tier",
		"accuracy-tasks",
	}
}

func values() []string {
	return []string{
		"model-selection-strategy", "custom-endpoint", "endpoint-type", "url-strategy", "request-timeout-seconds",
		"wait-for-model-timeout", "wait-for-model-mode", "wait-for-model-interval", "reset-kv-cache-timeout-seconds",
		"reset-kv-cache-path", "server-profiler-timeout-seconds", "server-profiler-start-path", "server-profiler-stop-path",
		"api-key", "transport", "connection-reuse-strategy", "request-content-type", "session-header", "tokenizer",
		"tokenizer-revision", "input-file", "public-dataset", "hf-subset", "hf-weka-dataset", "custom-dataset-type",
		"max-context-length", "dataset-sampling-strategy", "random-seed", "trace-session-sample-ratio", "config",
		"fixed-schedule-start-offset", "fixed-schedule-end-offset", "goodput", "conversation-num", "num-dataset-entries",
		"conversation-turn-mean", "conversation-turn-stddev", "conversation-turn-delay-mean",
		"conversation-turn-delay-stddev", "conversation-turn-delay-ratio", "inter-turn-delay-cap-seconds",
		"max-idle-gap-cap-seconds", "replay-speedup", "prompt-batch-size", "prompt-corpus", "cache-bust", "system-prompt",
		"system-prompt-file", "prompt-prefix-pool-size", "prompt-prefix-length", "shared-system-prompt-length",
		"user-context-prompt-length", "prompt-input-tokens-mean", "prompt-input-tokens-stddev",
		"prompt-input-tokens-block-size", "seq-dist", "random-range-ratio", "random-corpus-style",
		"prompt-output-tokens-mean", "prompt-output-tokens-stddev", "audio-batch-size", "audio-length-mean",
		"audio-length-stddev", "audio-format", "audio-num-channels", "image-width-mean", "image-width-stddev",
		"image-height-mean", "image-height-stddev", "image-batch-size", "image-format", "image-source",
		"image-source-sampling", "video-batch-size", "video-duration", "video-fps", "video-width", "video-height",
		"video-synth-type", "video-format", "video-codec", "video-audio-sample-rate", "video-audio-num-channels",
		"video-audio-codec", "video-audio-depth", "rankings-passages-mean", "rankings-passages-stddev",
		"rankings-passages-prompt-token-mean", "rankings-passages-prompt-token-stddev", "rankings-query-prompt-token-mean",
		"rankings-query-prompt-token-stddev", "synthesis-speedup-ratio", "synthesis-prefix-len-multiplier",
		"synthesis-prefix-root-multiplier", "synthesis-prompt-len-multiplier", "synthesis-output-len-multiplier",
		"synthesis-max-isl", "synthesis-max-osl", "benchmark-duration", "benchmark-grace-period", "concurrency",
		"prefill-concurrency", "request-rate", "arrival-pattern", "arrival-smoothness", "request-count",
		"concurrency-ramp-duration", "prefill-concurrency-ramp-duration", "request-rate-ramp-duration", "request-rate-series",
		"failed-request-threshold", "trajectory-start-min-ratio", "trajectory-start-max-ratio", "trace-idle-gap-cap-seconds",
		"system-idle-gap-cap-seconds", "scenario", "warmup-request-count", "warmup-duration", "agentic-cache-warmup-duration",
		"agentic-warmup-grace-period", "num-warmup-sessions", "warmup-concurrency", "warmup-prefill-concurrency",
		"warmup-request-rate", "warmup-arrival-pattern", "warmup-grace-period", "warmup-concurrency-ramp-duration",
		"warmup-prefill-concurrency-ramp-duration", "warmup-request-rate-ramp-duration", "user-centric-rate", "num-users",
		"request-cancellation-rate", "request-cancellation-delay", "output-artifact-dir", "profile-export-prefix",
		"export-level", "slice-duration", "otel-url", "gen-ai-provider", "mlflow-tracking-uri", "mlflow-experiment",
		"mlflow-run-name", "mlflow-parent-run-id", "wandb-project", "wandb-entity", "wandb-run-name", "network-latency-mean",
		"network-latency-ping-interval", "ui-type", "num-profile-runs", "profile-run-cooldown-seconds", "confidence-level",
		"convergence-metric", "convergence-stat", "convergence-threshold", "convergence-mode",
		"parameter-sweep-cooldown-seconds", "parameter-sweep-mode", "sweep-type", "search-metric", "search-stat",
		"search-direction", "search-max-iterations", "search-initial-points", "search-random-seed", "search-planner",
		"optuna-sampler", "optuna-acquisition", "optuna-terminator", "search-percentile-pooling", "bo-constraint-mode",
		"search-recipe", "ttft-sla-ms", "isl-osl-pairs", "itl-sla-ms", "tpot-sla-ms", "e2e-sla-ms", "error-rate-sla",
		"slo-attainment-fraction", "search-style", "degradation-threshold", "degradation-metric-tag", "degradation-stat",
		"isl-min", "isl-max", "isl-steps", "concurrency-min", "concurrency-max", "concurrency-steps", "osl-min", "osl-max",
		"osl-steps", "accuracy-benchmark", "accuracy-n-shots", "accuracy-grader", "accuracy-system-prompt", "log-level",
		"record-processor-service-count", "api-port", "api-host", "stats-interval", "workers-max", "zmq-host", "zmq-ipc-path",
	}
}

// aliases are further spellings of flags.
func aliases() map[string]string {
	return map[string]string{
		"model": "model-names", "m": "model-names", "endpoint": "custom-endpoint", "u": "url", "transport-type": "transport",
		"H": "header", "f": "config", "num-conversations": "conversation-num", "num-sessions": "conversation-num",
		"num-prompts": "num-dataset-entries", "session-turns-mean": "conversation-turn-mean",
		"session-turns-stddev": "conversation-turn-stddev", "session-turn-delay-mean": "conversation-turn-delay-mean",
		"session-turn-delay-stddev": "conversation-turn-delay-stddev", "session-delay-ratio": "conversation-turn-delay-ratio",
		"batch-size-text": "prompt-batch-size", "batch-size": "prompt-batch-size", "b": "prompt-batch-size",
		"prefix-prompt-pool-size": "prompt-prefix-pool-size", "num-prefix-prompts": "prompt-prefix-pool-size",
		"prefix-prompt-length": "prompt-prefix-length", "synthetic-input-tokens-mean": "prompt-input-tokens-mean",
		"isl": "prompt-input-tokens-mean", "synthetic-input-tokens-stddev": "prompt-input-tokens-stddev",
		"isl-stddev": "prompt-input-tokens-stddev", "synthetic-input-tokens-block-size": "prompt-input-tokens-block-size",
		"isl-block-size": "prompt-input-tokens-block-size", "sequence-distribution": "seq-dist",
		"output-tokens-mean": "prompt-output-tokens-mean", "osl": "prompt-output-tokens-mean",
		"output-tokens-stddev": "prompt-output-tokens-stddev", "osl-stddev": "prompt-output-tokens-stddev",
		"batch-size-audio": "audio-batch-size", "batch-size-image": "image-batch-size",
		"batch-size-video": "video-batch-size", "request-rate-mode": "arrival-pattern",
		"vllm-burstiness": "arrival-smoothness", "num-requests": "request-count",
		"num-warmup-requests": "warmup-request-count", "artifact-dir": "output-artifact-dir",
		"profile-export-file": "profile-export-prefix", "profile-export-level": "export-level", "ui": "ui-type",
		"sweep-variant": "variant", "v": "verbose", "vv": "extra-verbose",
		"record-processors": "record-processor-service-count", "max-workers": "workers-max",
	}
}
