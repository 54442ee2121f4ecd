package aiperf

import (
	"strings"

	"bflow.dev/bflow/load/tool"
)

// The flags of `aiperf profile` 0.13.0, in tables of package tool by what becomes of them here. They are keys of a
// block too, with _ for -, but for spellings that begin with -, which are short flags. What is marked with ? is a key
// alone.
const (
	// followed are those that the native generator follows.
	followed = `
	streaming! fixed-schedule! no-fixed-schedule! fixed-schedule-auto-offset! model-names=model=-m+ url=-u+
	extra-inputs+ header=-H+ custom-endpoint=endpoint endpoint-type request-timeout-seconds api-key input-file
	public-dataset custom-dataset-type random-seed fixed-schedule-start-offset fixed-schedule-end-offset goodput
	conversation-num=num-conversations=num-sessions num-dataset-entries=num-prompts
	conversation-turn-mean=session-turns-mean conversation-turn-stddev=session-turns-stddev
	conversation-turn-delay-mean=session-turn-delay-mean replay-speedup
	prompt-prefix-pool-size=prefix-prompt-pool-size=num-prefix-prompts prompt-prefix-length=prefix-prompt-length
	shared-system-prompt-length prompt-input-tokens-mean=synthetic-input-tokens-mean=isl
	prompt-input-tokens-stddev=synthetic-input-tokens-stddev=isl-stddev prompt-output-tokens-mean=output-tokens-mean=osl
	prompt-output-tokens-stddev=output-tokens-stddev=osl-stddev image-width-mean image-height-mean
	image-batch-size=batch-size-image synthesis-speedup-ratio synthesis-max-isl synthesis-max-osl benchmark-duration
	benchmark-grace-period concurrency request-rate arrival-pattern=request-rate-mode arrival-smoothness=vllm-burstiness
	request-count=num-requests concurrency-ramp-duration request-rate-ramp-duration
	warmup-request-count=num-warmup-requests warmup-duration num-warmup-sessions warmup-concurrency warmup-request-rate
	warmup-arrival-pattern warmup-grace-period request-cancellation-rate request-cancellation-delay
	output-artifact-dir=artifact-dir slice-duration num-profile-runs
	`
	// toolOnly are those that it does not have.
	toolOnly = `
	prefill-concurrency request-rate-series user-centric-rate num-users seq-dist=sequence-distribution
	random-range-ratio user-context-prompt-length max-context-length scenario hf-weka-repo? hf-weka-dataset hf-subset
	accuracy-benchmark accuracy-tasks+ accuracy-n-shots accuracy-enable-cot! accuracy-grader accuracy-system-prompt
	num-workers? agentic-cache-warmup-duration agentic-warmup-grace-period warmup-prefill-concurrency
	warmup-concurrency-ramp-duration warmup-prefill-concurrency-ramp-duration warmup-request-rate-ramp-duration
	prefill-concurrency-ramp-duration ignore-trace-delays! use-think-time-only! trace-session-sample-ratio
	inter-turn-delay-cap-seconds max-idle-gap-cap-seconds open-loop-strict! trace-idle-gap-cap-seconds
	system-idle-gap-cap-seconds burst-phase-starts! failed-request-threshold system-prompt system-prompt-file
	dataset-filter+ prompt-corpus convergence-metric convergence-threshold search-space+ search-metric search-stat
	search-direction search-max-iterations search-initial-points search-random-seed search-planner
	search-percentile-pooling search-sla+ search-sla-tier+ search-recipe search-style variant=sweep-variant+
	optuna-sampler optuna-acquisition optuna-terminator bo-constraint-mode ttft-sla-ms itl-sla-ms tpot-sla-ms e2e-sla-ms
	error-rate-sla slo-attainment-fraction degradation-threshold degradation-metric-tag degradation-stat isl-osl-pairs
	isl-min isl-max isl-steps osl-min osl-max osl-steps concurrency-min concurrency-max concurrency-steps
	reset-kv-cache-path reset-kv-cache-timeout-seconds server-profiler-start-path server-profiler-stop-path
	server-profiler-timeout-seconds config=-f request-content-type session-header dataset-sampling-strategy image-source
	`
	// atDefault are those whose default it has; another value needs the tool itself.
	atDefault = `
	apply-chat-template!:false audio-length-mean:0 audio-length-stddev:0
	prompt-batch-size=batch-size-text=batch-size=-b:1 cache-bust:none convergence-mode: convergence-stat:
	conversation-turn-delay-ratio=session-delay-ratio:1 conversation-turn-delay-stddev=session-turn-delay-stddev:0
	conversation-turn-delay-stdev?:0 download-video-content!:false image-height-stddev:0 image-width-stddev:0
	model-selection-strategy:round_robin omit-kv-hints!:false open-loop-replay!:true reset-kv-cache!:false
	server-profiler!:false sweep-type:grid synthesis-output-len-multiplier:1 synthesis-prefix-len-multiplier:1
	synthesis-prefix-root-multiplier:1 synthesis-prompt-len-multiplier:1 trajectory-start-max-ratio:0.75
	trajectory-start-min-ratio:0.25 unsafe-override!:false uuid-and-strip!:false video-height: video-width:
	`
	// quiet are those that change nothing that is measured.
	quiet = `
	use-server-token-count! per-chunk-usage! tokenizer tokenizer-revision tokenizer-trust-remote-code!
	export-level=profile-export-level export-http-trace! profile-export-prefix=profile-export-file
	use-legacy-max-tokens! ui-type=ui verbose=-v! extra-verbose=-vv! log-level workers-max=max-workers workers-min?
	record-processor-service-count=record-processors connection-reuse-strategy gpu-telemetry* no-gpu-telemetry!
	server-metrics* no-server-metrics! server-metrics-formats+ wait-for-model-timeout wait-for-model-mode
	wait-for-model-interval transport=transport-type url-strategy allow-dataset-wrap! force-min-tokens!
	prompt-input-tokens-block-size=synthetic-input-tokens-block-size=isl-block-size random-corpus-style auto-plot!
	plot-required! export-outputs-json! otel-url stream+ otel-resource-attributes+ gen-ai-provider mlflow-tracking-uri
	mlflow-experiment mlflow-run-name mlflow-tag+ mlflow-parent-run-id mlflow-artifact-glob+ wandb-project wandb-entity
	wandb-run-name wandb-tag+ show-trace-timing! network-latency-automatic! network-latency-mean
	network-latency-ping-interval profile-run-cooldown-seconds confidence-level profile-run-disable-warmup-after-first!
	set-consistent-seed! vary-seed-per-trial! parameter-sweep-cooldown-seconds parameter-sweep-same-seed!
	parameter-sweep-mode no-sweep-table! accuracy-verbose! api-port api-host stats-interval zmq-host zmq-ipc-path
	zmq-dual-bind! audio-batch-size=batch-size-audio audio-format audio-depths+ audio-sample-rates+ audio-num-channels
	image-source-sampling image-format video-batch-size=batch-size-video video-duration video-fps video-synth-type
	video-format video-codec video-audio-sample-rate video-audio-num-channels video-audio-codec video-audio-depth
	rankings-passages-mean rankings-passages-stddev rankings-passages-prompt-token-mean
	rankings-passages-prompt-token-stddev rankings-query-prompt-token-mean rankings-query-prompt-token-stddev
	`
)

// keys are the keys of a block that a table has, in every spelling, with the defaults.
func keys(table string) (names []string, defaults map[string]string) {
	defaults = map[string]string{}
	for _, f := range tool.ParseTable(table) {
		for _, name := range f.Names {
			if !strings.HasPrefix(name, "-") {
				name = strings.ReplaceAll(name, "-", "_")
				names = append(names, name)
				defaults[name] = f.Default
			}
		}
	}
	return names, defaults
}
