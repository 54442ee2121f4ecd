package spec

import "testing"

// experimentRows has a row per row of the format's table of experiment fields.
func experimentRows() []row {
	return []row{
		{name: "the least an experiment needs", fragment: "namespace: perf"},
		{name: "a model as one name", fragment: "model: {name: acme/tiny-1b}"},
		{name: "a model as an axis", fragment: "model:\n  name: [acme/tiny-1b, acme/mid-8b]"},
		{name: "a numeric model name is text", fragment: "model: {name: 42}"},
		{name: "profiles as lists of one", fragment: "deployment_profile: [plain]\nbenchmark_profile: [chat]"},
		{name: "a metrics profile as an axis", fragment: "metrics_profile: [detailed]"},
		{name: "an explicit null metrics profile means the default", fragment: "metrics_profile: null"},
		{name: "namespace and service account", fragment: "namespace: perf\nservice_account: runner-2"},
		{name: "an empty namespace is not set", fragment: "namespace:"},
		{name: "lifetime of a finished run", fragment: "ttl_seconds_after_finished: 7200"},
		{name: "every phase can be switched off",
			fragment: "stages: {download: false, deploy: no, benchmark: off, collect: \"0\", cleanup: \"false\"}"},
		{name: "an empty section is not set", fragment: "stages:"},
		{name: "mlflow experiment, version and tags",
			fragment: "mlflow: {experiment: nightly, version: 1.10, tags: {accelerator: H100, run: 7}}"},
		{name: "execution limits", fragment: "execution: {timeout: 1h30m, verify_completions: no}"},
		{name: "profiling with ranges",
			fragment: "execution: {profiling: {enabled: true, call_ranges: \"100-150, 200-200\"}}"},
		{name: "profiling by its older key", fragment: "execution: {profiling: {profiling_ranges: 1-2}}"},
		{name: "profiling after an idle gap",
			fragment: "execution: {profiling: {enabled: true, call_ranges: 50, idle_seconds: 30}}"},
		{name: "an existing endpoint",
			fragment: "target: {base_url: \"https://llm.example/\", path: /health, metrics_release_name: live}"},
		{name: "an endpoint scope stands alone", fragment: "target: {endpoint_scope: internal}"},
		{name: "a remote target by Secret",
			fragment: "target_cluster: {kubeconfig_secret: lab-a, host_aliases: {api.lab-a.example: 192.0.2.10, six: " +
				"\"2001:db8::1\"}}"},
		{name: "a remote target by file", fragment: "target_cluster: {kubeconfig: ~/.kube/lab-a}"},
		{name: "images as axes",
			fragment: "overrides: {images: {runtime: [acme/vllm:1, " +
				"\"reg.example:5000/acme/vllm@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"], " +
				"scheduler: acme/epp:v1}}"},
		{name: "scale as axes", fragment: "overrides: {scale: {replicas: [1, \"2\"], tensor_parallelism: 4}}"},
		{name: "a release of llm-d as an axis", fragment: "overrides: {llm_d: {repo_ref: [v0.6.0, main]}}"},
		{name: "authentication on rhoai", fragment: "overrides: {rhoai: {enable_auth: true}}"},
		{name: "every runtime override", fragment: `overrides:
  runtime:
    env: {LOG: debug, ON: true, EMPTY: }
    vllm_args: [--max-model-len=4096, "", ~]
    vllm_extra_args: [--foo]
    host_paths: [{name: cache, host_path: /var/cache, mount_path: /cache, type: DirectoryOrCreate, read_only: no, cleanup: yes}]
    service_account_name: pods
    node_selector: {pool: gpu, example.com/zone: ""}
    affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, matchLabelKeys: [a], labelSelector: {matchLabels: {a: b}}}]}}
    placement: {mode: same-node, spread_pool: a}
    tolerations: [{key: gpu, operator: Exists, effect: NoSchedule, tolerationSeconds: 5}]
    resources: {requests: {cpu: "8", memory: 16Gi}, limits: {nvidia.com/gpu: 1}, remove_requests: [ephemeral-storage], remove_limits: [memory]}`},
		{name: "emptied values clear the profile's",
			fragment: "overrides: {runtime: {vllm_args: [], host_paths: [], node_selector: {}, affinity: {}, placement: " +
				"{}, tolerations: []}}"},
		{name: "rates as a list are no axis", fragment: "overrides: {benchmark: {rates: [8, 32, 0.5]}}"},
		{name: "one rate, seconds, requests per stream, type and environment",
			fragment: "overrides: {benchmark: {rates: 4, max_seconds: 60, max_requests: 5*concurrency, request_type: " +
				"text_completions, env: {A: 1}}}"},
		{name: "a plain number of requests", fragment: "overrides: {benchmark: {max_requests: 500}}"},
		{name: "overrides of a model",
			fragment: "model_overrides: {acme/tiny-1b: {scale: {tensor_parallelism: 2}, runtime: {vllm_extra_args: [--x]}, " +
				"benchmark: {rates: [1, 2]}}}"},
		{name: "overrides of a model that an axis on the whole model has",
			fragment: "model_overrides: {acme/other: {}}\nmatrix: {axes: {model: [{name: acme/tiny-1b}, {name: acme/other}]}}"},
		{name: "overrides of a model that an included point has",
			fragment: "model_overrides: {acme/other: {}}\nmatrix: {include: [{model.name: acme/other}]}"},
		{name: "overrides of a model outside the matrix are noted", fragment: "model_overrides: {acme/other: {}}",
			want: `t.yaml:5:33: spec.model_overrides.acme/other: no point has model "acme/other", so these overrides have ` +
				`no effect`},
		{name: "anchors, aliases and merges",
			fragment: "overrides:\n  runtime: &r {env: &e {A: 1, B: 2}}\nmodel_overrides:\n  acme/tiny-1b: {runtime: {env: " +
				"{<<: *e, B: 3}}}"},
	}
}

// ownRows has a row per key that this project added to the format.
func ownRows() []row {
	return []row{
		{name: "axes by path",
			fragment: "matrix: {axes: {overrides.runtime.env.SEED: [1, 2], \"load.stages[0].rate\": [2, 4], " +
				"deployment.runtime.replicas: [1, 2], benchmark.guidellm.seed: [1], metrics.query_step: [5s]}}\nload: {data: " +
				"{input: 100}, stages: [{rate: 1, duration: 1s}]}"},
		{name: "an axis with a quoted key",
			fragment: "matrix: {axes: {'overrides.runtime.node_selector[\"a.b/c\"]': [x, y]}}"},
		{name: "zip, exclude and include", fragment: `matrix:
  axes: {overrides.scale.replicas: [1, 2], overrides.scale.tensor_parallelism: [2, 1]}
  zip: [[overrides.scale.replicas, overrides.scale.tensor_parallelism]]
  exclude: [{overrides.scale.replicas: 1}]
  include: [{overrides.scale.replicas: 8}]`},
		{name: "a built-in axis zips with one by path",
			fragment: "overrides: {scale: {replicas: [1, 2]}}\nmatrix: {axes: {execution.samples: [1, 2]}, zip: " +
				"[[overrides.scale.replicas, execution.samples]]}"},
		{name: "points by cluster and profile", fragment: `target_clusters: [local, lab-a]
matrix:
  axes: {deployment_profile: [plain], execution.samples: [1, 2], overrides.runtime.tolerations: [[], [{operator: Exists}]], overrides.runtime.affinity: [{}]}
  zip: [[target_clusters, execution.samples]]
  exclude: [{target_clusters: lab-a}]
  include: [{deployment_profile: plain, benchmark_profile: chat, overrides.runtime.env.A: ~}]`},
		{name: "repeat, order, seed, parallelism and fail fast",
			fragment: "matrix: {repeat: 3, order: shuffled, seed: 7, max_parallel: 2, fail_fast: true}"},
		{name: "camel case spellings of the matrix", fragment: "matrix: {maxParallel: 2, failFast: no}"},
		{name: "every objective",
			fragment: "slo: {ttft: {mean: 1s, p50: 1s, p90: 1s, p95: 1s, p99: 500ms}, itl: {p99: 50ms}, tpot: {p50: 1s}, " +
				"e2e: {p50: 1m}, error_rate: 0.01, min_throughput: 100, goodput: {min: 0.9, ttft: 1s, tpot: 50ms, e2e: 10s}, " +
				"on_breach: stop}"},
		{name: "a load block makes the benchmark profile optional",
			fragment: "-benchmark_profile:\nload: {data: {input: 100}, stages: [{concurrency: 1, requests: 10}]}"},
		{name: "how requests are put",
			fragment: "load: {api: {type: chat, path: /v1/chat/completions, stream: false, headers: {X-Team: search}, " +
				"body: {top_p: 0.9}, timeout: 2m, verify_tls: false, api_key_secret: {name: key, key: token}, exact_output: " +
				"false}, data: {input: 100}, stages: [{concurrency: 1, requests: 10}]}"},
		{name: "prompts and answers",
			fragment: "load: {data: {input: {mean: 900, stdev: 200, min: 64, max: 2000, shape: normal}, output: 128, " +
				"first_input: {mean: 10, min: 1, max: 20, shape: uniform}, first_output: {mean: 8, shape: fixed}, prefixes: " +
				"[{weight: 1, count: 2*concurrency, tokens: 2048}], turns: 3, think: 1s, conversations: 10, fresh_per_stage: " +
				"false, seed: 7}, stages: [{concurrency: 1, requests: 10}]}"},
		{name: "a trace",
			fragment: "load: {data: {trace: {format: mooncake_trace, url: \"https://x.example/t.jsonl\", sha256: " +
				"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef, limit: 100, max_input: 4096, time_scale: " +
				"0.5, from: 0s, to: 1m}}, stages: [{schedule: trace, max_inflight: 10, on_full: drop}]}"},
		{name: "every field of a stage",
			fragment: "load: {data: {input: 100}, stages: [{name: warm, measure: false, concurrency: [1, 2], duration: " +
				"30s, ramp: 5s}, {rate: [2, 4.5], arrival: gamma, burstiness: 0.5, requests: 10*concurrency, max_inflight: " +
				"64, on_full: queue, skip_first: 0.1, skip_last: {percent: 0.05, mode: requests}, stop: [{kind: max_errors, " +
				"count: 5}, {kind: over_saturation, mode: monitor}], pause_after: 10s}]}"},
		{name: "skipping a time",
			fragment: "load: {data: {input: 100}, stages: [{rate: 1, duration: 1m, skip_first: 10s, skip_last: 20}]}"},
		{name: "how connections are made, bounded and repeated",
			fragment: "load: {api: {connect_timeout: 2s, read_timeout: 1m, http2: true, tls: {ca: /ca, cert: /c, key: /k}, " +
				"retry: {attempts: 2, backoff: 0s}}, data: {input: 100}, stages: [{synchronous: true, requests: 10}]}"},
		{name: "what clients differ in",
			fragment: "load: {api: {type: triton, cancel: {share: 0.1, after: 2s}, adapters: [a, {name: b, weight: 2}], " +
				"priorities: [{value: -1, weight: 3}, {value: 0}], slo_headers: {ttft: 1s, tpot: 20ms, unit: us, ttft_header: " +
				"x-a, tpot_header: x-b}}, data: {input: 100}, stages: [{concurrency: 1, requests: 10}]}"},
		{name: "a file of prompts",
			fragment: "load: {data: {file: {url: /x.csv, prompt_column: p, output_column: o, limit: 3, shuffle: true}, " +
				"output: 10}, stages: [{throughput: true, max_inflight: 8, duration: 10s}]}"},
		{name: "a file of prompts with a format",
			fragment: "load: {data: {turns: 3, prefixes: [{tokens: 10}], file: {url: /x, format: sharegpt}}, stages: " +
				"[{throughput: true, duration: 10s}]}"},
		{name: "images",
			fragment: "load: {data: {input: 100, images: {count: 2, width: 64, height: 32}}, stages: [{concurrency: 1, " +
				"requests: 10}]}"},
		{name: "a trace played twice",
			fragment: "load: {data: {trace: {format: azure, url: /t.csv, max_output: 5, turns: idle_gap, repeat: 2}}, " +
				"stages: [{schedule: trace}]}"},
		{name: "ramps of every shape, slots per request",
			fragment: "load: {data: {input: 100}, stages: [{rate: 4, ramp: {over: 5s, from: 1, shape: exponential}, " +
				"duration: 30s}, {rate: 4, ramp: {over: 5s, shape: steps, steps: 3}, duration: 30s}, {concurrency: 4, ramp: " +
				"{over: 5s}, slot_per: request, duration: 30s}, {rate: 4, ramp: 0s, duration: 30s}]}"},
		{name: "a sweep",
			fragment: "load: {data: {input: 100}, sweep: {points: 6, arrival: poisson, duration: 30s, requests: 10, knee: " +
				"3, max_inflight: 64, pause_after: 1s}}"},
		{name: "a search in full",
			fragment: "load: {data: {input: 100}, search: {goodput: 0.95, low: 1, high: 64, over: concurrency, tolerance: " +
				"0.1, repeats: 3, level: {duration: 1m, skip_first: 5s, ramp: 5s, slot_per: request, stop: [{kind: " +
				"max_errors, count: 1}]}}}"},
		{name: "a search over rates",
			fragment: "load: {data: {input: 100}, search: {goodput: 0.95, low: 1, high: 64, over: rate, level: {arrival: " +
				"gamma, burstiness: 2, max_inflight: 5, on_full: drop, requests: 100}}}"},
		{name: "what is kept",
			fragment: "load: {data: {input: 100}, record: {gaps: true, texts: 5, slice: 10s, parquet: true}, stages: " +
				"[{rate: 1, duration: 1m}]}"},
		{name: "where the real tool is installed", fragment: "tool_runner: external\ntool_venv: /opt/venvs/guidellm"},
		{name: "a search", fragment: "load: {data: {input: 100}, search: {goodput: 0.95, low: 1, high: 64}}"},
		{name: "the runner of a tool", fragment: "tool_runner: external"},
		{name: "sharing, samples, pause and invalid measurements",
			fragment: "execution: {share_deployment: true, samples: 3, sample_pause: 10s, on_invalid: retry}"},
		{name: "a simulated engine",
			fragment: "engine: {kind: sim, sim: {ttft: 40ms, ttft_stdev: 1ms, itl: 8ms, itl_stdev: 0ms, max_num_seqs: 64, " +
				"max_model_len: 4096, seed: 1, failure_rate: 0.1, prefill_tokens_per_s: 1000, decode_tokens_per_s: 100, " +
				"kv_tokens: 10000, prefix_cache: true, startup: 1s, not_ready: 1s, faults: [{kind: stall, share: 0.5, after: " +
				"5s, duration: 1s}]}}"},
		{name: "an engine by command line",
			fragment: "engine: {kind: command, command: [./server], args: [--port, $(port)], port: 8080, health_path: /up, " +
				"metrics_path: /m}"},
		{name: "an engine by image", fragment: "engine: {kind: sglang, image: \"acme/sglang:1\"}"},
		{name: "clusters as an axis",
			fragment: "target_clusters: [local, lab-a, {name: lab-b, kubeconfig_secret: kb, namespace: perf, host_aliases: " +
				"{a.example: 192.0.2.1}, queue: lab}]"},
		{name: "queue, priority and isolation", fragment: "queue: {name: lab, priority: nightly, isolation: exclusive}"},
		{name: "pins",
			fragment: "pins: {images: {\"acme/vllm:1\": " +
				"\"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}, model_revisions: " +
				"{acme/tiny-1b: 0123456789abcdef0123456789abcdef01234567}, repos: {main: " +
				"0123456789abcdef0123456789abcdef01234567}, datasets: {\"https://x.example/t\": " +
				"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef}, require: all}"},
	}
}

func TestExperimentFieldsAreAccepted(t *testing.T) { runRows(t, KindExperiment, experimentRows()) }

func TestOwnFieldsAreAccepted(t *testing.T) { runRows(t, KindExperiment, ownRows()) }
