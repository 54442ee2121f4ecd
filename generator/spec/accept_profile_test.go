package spec

import (
	"testing"

	"bflow.dev/bflow/platform"
)

const eppConfig = `options:
  epp_config: |
    apiVersion: inference.networking.x-k8s.io/v1alpha1
    kind: EndpointPickerConfig
    plugins: [{type: queue-scorer, parameters: {name: "{{ release_name }}", n: {{replicas}}}}]`

func deploymentRows() []row {
	rows := []row{
		{name: "an image, replicas and GPUs",
			fragment: "runtime: {image: \"vllm/vllm-openai:v0.23.0\", replicas: 2, tensor_parallelism: 4}"},
		{name: "arguments, environment and shared memory",
			fragment: "runtime: {vllm_args: [--a, --b=1], env: {A: 1, FLAG: true}, shared_memory_size: 16Gi}"},
		{name: "folders of the node",
			fragment: "runtime: {host_paths: [{name: a, host_path: /a, mount_path: /x}, {name: b, host_path: /b, " +
				"mount_path: /y, type: BlockDevice, read_only: true, cleanup: true}]}"},
		{name: "claims, also by older keys",
			fragment: "runtime: {pvc_mounts: [{name: a, claim_name: a, mount_path: /x}, {name: b, pvc_name: b, mount_path: " +
				"/y, create: true, size: 10Gi, access_mode: ReadWriteMany, storage_class: nfs, read_only: yes}, {name: c, " +
				"claim_name: c, mount_path: /z, access_modes: [ReadWriteOnce], storage_class_name: fast}]}"},
		{name: "where the model pods go",
			fragment: "runtime: {service_account_name: pods, node_selector: {pool: gpu}, affinity: {nodeAffinity: " +
				"{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: gpu, " +
				"operator: In, values: [h100]}]}]}}}, tolerations: [{operator: Exists}]}"},
		{name: "placement on one node",
			fragment: "platform: rhoai\nmode: distributed-default\nruntime: {placement: {mode: same-node, spread_pool: a}}"},
		{name: "placement one by one",
			fragment: "platform: rhoai\nmode: precise-prefix-cache\nruntime: {placement: {mode: sequential}}"},
		{name: "pull secrets", fragment: "runtime: {image_pull_secrets: [{name: reg}]}"},
		{name: "pull secrets in camel case", fragment: "runtime: {imagePullSecrets: [{name: reg}]}"},
		{name: "resources",
			fragment: "runtime: {resources: {requests: {cpu: 500m}, limits: {memory: 64Gi}, remove_requests: [memory], " +
				"remove_limits: [cpu]}}"},
		{name: "model storage", fragment: "model_storage: {pvc_name: m, cache_dir: /, mount_path: /mnt, model_subpath: a/b}"},
		{name: "a namespace", fragment: "namespace: perf"},
		{name: "a repository and its ref",
			fragment: "platform: llm-d\nmode: inference-scheduling\nrepo_url: https://git.example/llm-d\nrepo_ref: v0.6.0"},
		{name: "operator version and channel",
			fragment: "platform: rhoai\nmode: isvc\nplatform_version: RHOAI-3.5.0-ea.2\nplatform_channel: fast-3.x"},
		{name: "a standalone gateway", fragment: "platform: llm-d\nmode: optimized-baseline\ngateway: standalone"},
		{name: "endpoint path and scope", fragment: "endpoint_path: /health\nendpoint_scope: internal"},
		{name: "scheduler image and profile", fragment: "scheduler_image: acme/epp:v1\nscheduler_profile: fast"},
		{name: "authentication", fragment: "platform: rhoai\nmode: isvc\noptions: {enable_auth: yes}"},
		{name: "an endpoint-picker configuration on llm-d",
			fragment: "platform: llm-d\nmode: precise-prefix-cache\n" + eppConfig},
		{name: "an endpoint-picker configuration on rhoai",
			fragment: "platform: rhoai\nmode: approximate-prefix-cache\n" + eppConfig},
		{name: "verbosity of the endpoint picker",
			fragment: "platform: llm-d\nmode: precise-prefix-cache-routing\noptions: {epp_verbosity: 0}"},
		{name: "a startup probe",
			fragment: "platform: rhoai\nmode: distributed-default\noptions: {startup_probe: {failureThreshold: 200, " +
				"httpGet: {path: /h, port: 8000, scheme: HTTPS}}}"},
		{name: "part of a startup probe's handler",
			fragment: "platform: rhoai\nmode: distributed-default\noptions: {startup_probe: {httpGet: {path: /up}, exec: " +
				"{command: [a]}}}"},
		{name: "no startup probe", fragment: "platform: rhoai\nmode: distributed-default\noptions: {startup_probe: false}"},
		{name: "mooncake in the server",
			fragment: "platform: rhoai\nmode: distributed-default\nruntime: {image: \"a/b:1\"}\noptions: {mooncake_store: " +
				"{mode: embedded, protocol: tcp, local_buffer_size: 4GB, global_segment_size: 30GB, device_name: mlx5}}"},
		{name: "mooncake beside the server",
			fragment: "platform: rhoai\nmode: distributed-default\nruntime: {image: \"a/b:1\", host_paths: [{name: kv, " +
				"host_path: /kv, mount_path: /kv}]}\noptions: {mooncake_store: {mode: standalone-store, protocol: rdma, " +
				"local_buffer_size: 4GB, store_global_segment_size: 30GB, host_path_name: kv, offload_path: /kv, " +
				"offload_size_limit_bytes: 1000000000}}"},
		{name: "storage offloading to a claim",
			fragment: "platform: llm-d\nmode: inference-scheduling\noptions: {storage_offloading: {enabled: true, type: " +
				"persistentVolumeClaim, mount_path: /mnt/f, directory_path: /mnt/f/kv, storage_events_port: 5559, pvc_name: " +
				"c, storage_class: nfs, size: 10Gi, access_mode: ReadWriteMany}}"},
		{name: "storage offloading to the node",
			fragment: "platform: llm-d\nmode: inference-scheduling\noptions: {storage_offloading: {enabled: true, type: " +
				"host-path, host_path: /kv, host_path_type: Directory}}"},
		{name: "accelerator and infrastructure",
			fragment: "platform: llm-d\nmode: inference-scheduling\noptions: {accelerator: H100, infra_provider: gke}"},
		{name: "an engine of its own",
			fragment: "platform: kubernetes\nmode: plain\nengine: {kind: sglang, image: \"a/b:1\"}"},
	}
	for _, p := range platform.All() {
		if p.Own != nil { // it may require fields of its own, which its own tests set
			continue
		}
		for _, mode := range p.ModeNames() {
			rows = append(rows, row{name: p.Name + " has mode " + mode, fragment: "platform: " + p.Name + "\nmode: " + mode})
		}
	}
	return rows
}

func benchmarkRows() []row {
	return []row{
		{name: "guidellm is the default tool",
			fragment: "guidellm: {profile: {kind: concurrent, streams: [1]}, constraint: [{kind: max_requests, count: 10}]}"},
		{name: "aiperf", fragment: "tool: aiperf\naiperf: {public_dataset: x, endpoint_type: chat}"},
		{name: "inference-perf",
			fragment: "tool: inference-perf\ninference_perf: {config: {data: {type: random}, load: {type: constant, " +
				"stages: [{rate: 1, duration: 10}]}}}"},
		{name: "vllm bench", fragment: "tool: vllm-bench\nvllm_bench: {num-prompts: 10}"},
		{name: "native", fragment: "tool: native\nload: {data: {input: 100}, stages: [{rate: 1, duration: 10s}]}"},
		{name: "environment and requirements",
			fragment: "env: {GUIDELLM__LOGGING__CONSOLE_LOG_LEVEL: DEBUG}\nrequirements: {min_max_model_len: 8192}"},
		{name: "blocks of other tools are ignored", fragment: "tool: guidellm\naiperf: {}"},
		{name: "a literal API key is accepted",
			fragment: "guidellm: {backend: {api_key: abc}, profile: {kind: concurrent, streams: [4]}, constraint: [{kind: " +
				"max_requests, count: 10}]}"},
	}
}

func metricsRows() []row {
	return []row{
		{name: "step, timeout, certificates and queries",
			fragment: "query_step: 5s\nquery_timeout: 1m\nverify_tls: true\nqueries: {cpu: " +
				"'rate(x{namespace=\"$namespace\"}[1m])'}"},
		{name: "bare numbers are seconds", fragment: "query_step: 15\nquery_timeout: 2.5"},
	}
}

func TestDeploymentFieldsAreAccepted(t *testing.T) { runRows(t, KindDeployment, deploymentRows()) }

func TestBenchmarkFieldsAreAccepted(t *testing.T) { runRows(t, KindBenchmark, benchmarkRows()) }

func TestMetricsFieldsAreAccepted(t *testing.T) { runRows(t, KindMetrics, metricsRows()) }
