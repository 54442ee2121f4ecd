package spec

import (
	"strings"
	"testing"

	"bflow.dev/bflow/platform"
)

func wrongDeploymentRows() []row {
	return []row{
		{"a platform and a mode are required",
			"-platform:\n-mode:",
			"t.yaml:1:1: spec: required field is missing"},
		{"a platform is known",
			"platform: rhaii",
			`t.yaml:5:13: spec.platform: want one of "` + strings.Join(platform.All().Names(), `", "`) +
				`", found "rhaii" (did you mean "rhaiis"?)`},
		{"a mode belongs to its platform",
			"platform: rhoai\nmode: raw-vllm",
			`t.yaml:6:9: spec.mode: platform rhoai has modes ["isvc" "distributed-default" "approximate-prefix-cache" ` +
				`"precise-prefix-cache"], found "raw-vllm"`},
		{"a mode of llm-d is one of four",
			"platform: llm-d\nmode: precise-prefix-cach",
			`t.yaml:6:9: spec.mode: platform llm-d has modes ["inference-scheduling" "optimized-baseline" ` +
				`"precise-prefix-cache" "precise-prefix-cache-routing" "flow-control" "tiered-prefix-cache"], ` +
				`found "precise-prefix-cach" (did you mean ` +
				`"precise-prefix-cache"?)`},
		{"a typo in a profile",
			"runtime: {imgae: a/b}",
			`t.yaml:5:13: spec.runtime.imgae: unknown field "imgae" (did you mean "image"?)`},
		{"a removed key",
			"runtime: {fs_group: 1}",
			"t.yaml:5:13: spec.runtime.fs_group: removed from the format"},
		{"shared memory is a quantity",
			"runtime: {shared_memory_size: lots}",
			`t.yaml:5:33: spec.runtime.shared_memory_size: want a quantity above 0 such as 2, 500m or 16Gi, found "lots"`},
		{"a volume name is a label",
			"runtime: {host_paths: [{name: A_b, host_path: /a, mount_path: /b}]}",
			`t.yaml:5:33: spec.runtime.host_paths[0].name: want at most 63 lower-case letters, digits and inner -, found "A_b"`},
		{"a volume name is not reserved",
			"runtime: {pvc_mounts: [{name: model-storage, claim_name: c, mount_path: /b}]}",
			`t.yaml:5:33: spec.runtime.pvc_mounts[0].name: name "model-storage" is reserved; choose another`},
		{"mount paths are unique over both kinds",
			"runtime: {host_paths: [{name: a, host_path: /a, mount_path: /m}], pvc_mounts: [{name: b, claim_name: c, " +
				"mount_path: /m}]}",
			`t.yaml:5:119: spec.runtime.pvc_mounts[0].mount_path: duplicate mount path "/m", first in runtime.host_paths[0]`},
		{"paths are absolute",
			"runtime: {host_paths: [{name: a, host_path: a, mount_path: b}]}",
			`t.yaml:5:47: spec.runtime.host_paths[0].host_path: want an absolute path without ".." parts, found "a"
t.yaml:5:62: spec.runtime.host_paths[0].mount_path: want an absolute path without ".." parts, found "b"`},
		{"a hostPath type is one of Kubernetes'",
			"runtime: {host_paths: [{name: a, host_path: /a, mount_path: /b, type: Folder}]}",
			`t.yaml:5:73: spec.runtime.host_paths[0].type: want one of "DirectoryOrCreate", "Directory", "FileOrCreate", ` +
				`"File", "Socket", "CharDevice", "BlockDevice", found "Folder"`},
		{"a created claim needs a size",
			"runtime: {pvc_mounts: [{name: a, claim_name: c, mount_path: /b, create: true, access_mode: ReadWriteOnce}]}",
			"t.yaml:5:75: spec.runtime.pvc_mounts[0].create: a created claim needs size and access_modes"},
		{"two spellings of a claim",
			"runtime: {pvc_mounts: [{name: a, claim_name: c, pvc_name: c, mount_path: /b}]}",
			`t.yaml:5:51: spec.runtime.pvc_mounts[0].pvc_name: duplicate key "pvc_name", first in another spelling at ` +
				`t.yaml:5:36`},
		{"two spellings of a claim, one of them empty",
			"runtime: {pvc_mounts: [{name: a, pvc_name: , claim_name: c, mount_path: /b}]}",
			`t.yaml:5:48: spec.runtime.pvc_mounts[0].claim_name: duplicate key "claim_name", first in another spelling at ` +
				`t.yaml:5:36`},
		{"an access mode is one of Kubernetes'",
			"runtime: {pvc_mounts: [{name: a, claim_name: c, mount_path: /b, access_modes: [Any]}]}",
			`t.yaml:5:82: spec.runtime.pvc_mounts[0].access_modes[0]: want one of "ReadWriteOnce", "ReadOnlyMany", ` +
				`"ReadWriteMany", "ReadWriteOncePod", found "Any"`},
		{"llm-d takes only writable folders that it creates",
			"platform: llm-d\nmode: inference-scheduling\nruntime: {service_account_name: me, host_paths: [{name: a, " +
				"host_path: /a, mount_path: /b, type: Directory}]}",
			`t.yaml:7:35: spec.runtime.service_account_name: platform llm-d runs pods with host paths as "benchflow-hostpath-runtime", found "me"; leave it unset
t.yaml:7:52: spec.runtime.host_paths[0]: platform llm-d accepts only writable host paths of type DirectoryOrCreate`},
		{"placement needs rhoai",
			"runtime: {placement: {mode: sequential}}",
			"t.yaml:5:24: spec.runtime.placement: placement needs platform rhoai and a mode other than isvc, found " +
				"rhaiis/raw-vllm"},
		{"placement needs a mode other than isvc",
			"platform: rhoai\nmode: isvc\nruntime: {placement: {mode: sequential}}",
			"t.yaml:7:24: spec.runtime.placement: placement needs platform rhoai and a mode other than isvc, found rhoai/isvc"},
		{"a pull secret has a name",
			"runtime: {image_pull_secrets: [{nam: a}]}",
			`t.yaml:5:34: spec.runtime.image_pull_secrets[0].name: required field is missing
t.yaml:5:35: spec.runtime.image_pull_secrets[0].nam: unknown field "nam" (did you mean "name"?)`},
		{"a subpath stays inside",
			"model_storage: {model_subpath: ../x}",
			`t.yaml:5:34: spec.model_storage.model_subpath: want a relative path without "." or ".." parts, found "../x"`},
		{"a gateway is one of two",
			"gateway: nginx",
			`t.yaml:5:12: spec.gateway: want one of "istio", "standalone", found "nginx"`},
		{"isvc has no endpoint picker",
			"platform: rhoai\nmode: isvc\noptions: {epp_verbosity: 1}",
			"t.yaml:7:28: spec.options.epp_verbosity: mode isvc has no endpoint picker"},
		{"verbosity is not negative",
			"platform: llm-d\nmode: inference-scheduling\noptions: {epp_verbosity: -1}",
			`t.yaml:7:28: spec.options.epp_verbosity: want at least 0, found "-1"`},
		{"an unknown variable of the endpoint picker",
			"platform: rhoai\nmode: distributed-default\noptions:\n  epp_config: \"kind: EndpointPickerConfig\\nx: {{ " +
				"release_nam }}\"",
			`t.yaml:8:17: spec.options.epp_config: unknown variable "release_nam" (did you mean "release_name"?)`},
		{"a variable of another platform",
			"platform: rhoai\nmode: distributed-default\noptions:\n  epp_config: \"kind: EndpointPickerConfig\\nx: {{ " +
				"repo_ref }}\"",
			`t.yaml:8:17: spec.options.epp_config: unknown variable "repo_ref", want one of enable_auth, gpu_count, ` +
				`model_name, model_uri, namespace, precise_prefix_cache_tokenizer_model_path, release_name, replicas, ` +
				`runtime_image, scheduler_image`},
		{"other template syntax",
			`platform: rhoai
mode: distributed-default
options:
  epp_config: "{% if x %}"`,
			`t.yaml:8:17: spec.options.epp_config: reading template: want only {{ variable }}, found "{%"`},
		{"a filter in a template",
			`platform: rhoai
mode: distributed-default
options:
  epp_config: "kind: {{ namespace | upper }}"`,
			`t.yaml:8:17: spec.options.epp_config: reading template: want only {{ variable }}, found "{{ namespace | upper }}"`},
		{"another kind of endpoint-picker document",
			`platform: rhoai
mode: distributed-default
options: {epp_config: "kind: Other"}`,
			`t.yaml:7:25: spec.options.epp_config: want text that renders to kind EndpointPickerConfig, found kind "Other"`},
		{"a startup probe is strict",
			"platform: rhoai\nmode: distributed-default\noptions: {startup_probe: {failureTreshold: 1}}",
			`t.yaml:7:29: spec.options.startup_probe.failureTreshold: unknown field "failureTreshold" (did you mean ` +
				`"failureThreshold"?)`},
		{"a startup probe is not true",
			"platform: rhoai\nmode: distributed-default\noptions: {startup_probe: true}",
			`t.yaml:7:28: spec.options.startup_probe: want false or the fields of a Kubernetes probe, found "true"`},
		{"a startup probe elsewhere is noted",
			"options: {startup_probe: false}",
			"t.yaml:5:28: spec.options.startup_probe: it has no effect: only platform rhoai with a mode other than isvc " +
				"uses it"},
		{"mooncake needs rhoai",
			"options: {mooncake_store: {mode: embedded, protocol: tcp, local_buffer_size: 1GB, global_segment_size: 1GB}}",
			"t.yaml:5:29: spec.options.mooncake_store: mooncake_store needs platform rhoai and a mode other than isvc, " +
				"found rhaiis/raw-vllm"},
		{"mooncake in the server needs its size",
			"platform: rhoai\nmode: distributed-default\noptions: {mooncake_store: {mode: embedded, protocol: tcp, " +
				"local_buffer_size: 1GB}}",
			"t.yaml:7:29: spec.options.mooncake_store.global_segment_size: required field is missing: mode embedded needs it"},
		{"mooncake beside the server needs four more fields",
			"platform: rhoai\nmode: distributed-default\noptions: {mooncake_store: {mode: standalone-store, protocol: tcp, " +
				"local_buffer_size: 1GB}}",
			"t.yaml:7:29: spec.options.mooncake_store.store_global_segment_size: required field is missing: mode " +
				"standalone-store needs it\nt.yaml:7:29: spec.options.mooncake_store.host_path_name: required field is " +
				"missing: mode standalone-store needs it\nt.yaml:7:29: spec.options.mooncake_store.offload_path: required " +
				"field is missing: mode standalone-store needs it\nt.yaml:7:29: " +
				"spec.options.mooncake_store.offload_size_limit_bytes: required field is missing: mode standalone-store needs it"},
		{"mooncake's folder is a host path",
			"platform: rhoai\nmode: distributed-default\noptions: {mooncake_store: {mode: standalone-store, protocol: tcp, " +
				"local_buffer_size: 1GB, store_global_segment_size: 1GB, host_path_name: kv, offload_path: /kv, " +
				"offload_size_limit_bytes: 5}}",
			`t.yaml:7:141: spec.options.mooncake_store.host_path_name: runtime.host_paths has no entry named "kv"`},
		{"mooncake's folder is mounted where it offloads",
			"platform: rhoai\nmode: distributed-default\nruntime: {host_paths: [{name: kv, host_path: /a, mount_path: " +
				"/b}]}\noptions: {mooncake_store: {mode: standalone-store, protocol: tcp, local_buffer_size: 1GB, " +
				"store_global_segment_size: 1GB, host_path_name: kv, offload_path: /kv, offload_size_limit_bytes: 5}}",
			`t.yaml:8:159: spec.options.mooncake_store.offload_path: want the mount path of host path "kv", "/b", found "/kv"`},
		{"a batching engine has both rates",
			"engine: {kind: sim, sim: {decode_tokens_per_s: 100}}",
			"t.yaml:5:28: spec.engine.sim.prefill_tokens_per_s: required field is missing: decode_tokens_per_s needs it"},
		{"the hash seed belongs to the platform",
			"platform: rhoai\nmode: precise-prefix-cache\nruntime: {env: {PYTHONHASHSEED: 1}}",
			"t.yaml:7:35: spec.runtime.env.PYTHONHASHSEED: the platform sets this variable to 42 to match the endpoint " +
				"picker; remove it"},
		{"storage offloading on an old release is noted",
			"platform: llm-d\nmode: inference-scheduling\nrepo_ref: v0.5.1\noptions: {storage_offloading: {enabled: true}}",
			`t.yaml:8:33: spec.options.storage_offloading: needs llm-d 0.6.0 or later, found repo_ref "v0.5.1"`},
		{"storage offloading elsewhere is noted",
			"options: {storage_offloading: {enabled: true}}",
			"t.yaml:5:33: spec.options.storage_offloading: it has no effect: only platform llm-d uses it"},
		{"storage offloading has a known type",
			"platform: llm-d\nmode: inference-scheduling\noptions: {storage_offloading: {type: nfs}}",
			`t.yaml:7:40: spec.options.storage_offloading.type: want one of "pvc", "hostPath", found "nfs"`},
	}
}

func wrongBenchmarkRows() []row {
	return []row{
		{"guidellm needs its block",
			"-guidellm:",
			"t.yaml:1:1: spec: required field is missing"},
		{"a tool needs its own block",
			"tool: aiperf",
			"t.yaml:5:3: spec.aiperf: required field is missing: tool aiperf needs it"},
		{"inference-perf needs a configuration",
			"tool: inference-perf\ninference_perf: {config: {}}",
			"t.yaml:6:28: spec.inference_perf.config: required field is missing: tool inference-perf needs it"},
		{"inference-perf has only a configuration",
			"tool: inference-perf\ninference_perf: {config: {a: 1}, confg: {}}",
			`t.yaml:6:36: spec.inference_perf.confg: unknown field "confg" (did you mean "config"?)`},
		{"native needs a load",
			"tool: native",
			"t.yaml:5:3: spec.load: required field is missing: tool native needs it"},
		{"a native load follows the rules",
			"tool: native\nload: {stages: [{rate: 1}]}",
			"t.yaml:6:19: spec.load.stages[0]: the stage never ends; set duration or requests"},
		{"a tool is known",
			"tool: guidelm",
			`t.yaml:5:9: spec.tool: want one of "guidellm", "aiperf", "inference-perf", "vllm-bench", "inferencemax", ` +
				`"native", found "guidelm" (did you mean "guidellm"?)`},
		{"the output path belongs to the runner",
			"env: {GUIDELLM_OUTPUT_PATH: /x}",
			"t.yaml:5:31: spec.env.GUIDELLM_OUTPUT_PATH: bflow sets this variable itself; remove it"},
		{"a block is a mapping",
			"guidellm: fast",
			`t.yaml:5:13: spec.guidellm: want a mapping, found "fast"`},
		{"a model length is above zero",
			"requirements: {min_max_model_len: 0}",
			`t.yaml:5:37: spec.requirements.min_max_model_len: want at least 1, found "0"`},
	}
}

func wrongMetricsRows() []row {
	return []row{
		{"a Prometheus URL is required",
			"-prometheus_url:",
			"t.yaml:1:1: spec: required field is missing"},
		{"a Prometheus URL is a URL",
			"prometheus_url: prom",
			`t.yaml:5:19: spec.prometheus_url: want a URL such as https://host:8443, found "prom"`},
		{"a step is above zero",
			"query_step: 0",
			`t.yaml:5:15: spec.query_step: want a duration above 0, found "0"`},
		{"a query is text",
			"queries: {a: [x]}",
			"t.yaml:5:16: spec.queries.a: want text, found a list"},
		{"a query is not empty",
			`queries: {a: ""}`,
			"t.yaml:5:16: spec.queries.a: want a PromQL query, found nothing"},
	}
}

func TestMistakesInADeploymentProfileAreReported(t *testing.T) {
	runRows(t, KindDeployment, wrongDeploymentRows())
}

func TestMistakesInABenchmarkProfileAreReported(t *testing.T) {
	runRows(t, KindBenchmark, wrongBenchmarkRows())
}

func TestMistakesInAMetricsProfileAreReported(t *testing.T) {
	runRows(t, KindMetrics, wrongMetricsRows())
}
