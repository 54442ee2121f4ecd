package plan

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/runplan"
)

// layered is a profile that sets everything, below an experiment whose layers each row fills in.
const layered = `
apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: base}
spec:
  platform: rhoai
  mode: distributed-default
  namespace: from-profile
  endpoint_scope: internal
  scheduler_image: "example.com/epp:profile"
  options: {enable_auth: true}
  runtime:
    image: "example.com/server:profile"
    replicas: 2
    tensor_parallelism: 4
    service_account_name: profile
    env: {A: profile, B: profile}
    vllm_args: [--profile]
    host_paths: [{name: data, host_path: /data, mount_path: /data}]
    node_selector: {pool: profile}
    affinity: {nodeAffinity: {}}
    tolerations: [{key: profile}]
    placement: {mode: sequential}
    resources: {requests: {cpu: "1", memory: 1Gi}, limits: {cpu: "2"}, remove_limits: [example.com/nic]}
---
apiVersion: bflow.dev/v1alpha1
kind: BenchmarkProfile
metadata: {name: sweep}
spec:
  env: {LEVEL: profile, KEEP: profile}
  guidellm:
    profile: {kind: concurrent, streams: [1]}
    data: {kind: synthetic_text, prompt_tokens: 10, output_tokens: 10}
    constraint: [{kind: max_duration, seconds: 30}]
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: layers}
spec:
  model: {name: acme/tiny-1b}
  deployment_profile: base
  benchmark_profile: sweep
`

// TestWhoWins has the rows of the format's table of precedence.
func TestWhoWins(t *testing.T) {
	image := func(p *runplan.RunPlan) any { return p.Deployment.Engine.Image }
	args := func(p *runplan.RunPlan) any { return p.Deployment.Args }
	pods := func(key string) func(*runplan.RunPlan) any {
		return func(p *runplan.RunPlan) any {
			var fields map[string]any
			if json.Unmarshal(p.Deployment.Runtime, &fields) != nil {
				return "no JSON"
			}
			return fields[key]
		}
	}
	streams := func(p *runplan.RunPlan) any { return p.Measurements[0].Stages[0].Concurrency }
	object := func(s string) (v any) { _ = json.Unmarshal([]byte(s), &v); return v }
	for _, row := range []struct {
		name        string
		over, model string // overrides and model_overrides.<model>
		rest        string // of spec
		set         string // --set
		read        func(*runplan.RunPlan) any
		want        any
	}{
		{name: "an image comes from the profile", read: image, want: "example.com/server:profile"},
		{name: "overrides beat the profile's image", over: `{images: {runtime: "example.com/server:over"}}`, read: image,
			want: "example.com/server:over"},
		{name: "the model beats overrides", over: `{images: {runtime: "example.com/server:over"}}`,
			model: `{images: {runtime: "example.com/server:model"}}`, read: image, want: "example.com/server:model"},
		{name: "a flag beats the model", model: `{images: {runtime: "example.com/server:model"}}`,
			set: "overrides.images.runtime=example.com/server:flag", read: image, want: "example.com/server:flag"},
		{name: "the scheduler image follows the same order", over: `{images: {scheduler: "example.com/epp:over"}}`,
			read: func(p *runplan.RunPlan) any { return p.Deployment.SchedulerImage }, want: "example.com/epp:over"},
		{name: "scale is taken value by value", over: `{scale: {replicas: 3}}`, model: `{scale: {tensor_parallelism: 8}}`,
			read: func(p *runplan.RunPlan) any { return [2]int{p.Deployment.Replicas, p.Deployment.TensorParallel} },
			want: [2]int{3, 8}},
		{name: "enable_auth is replaced", over: `{rhoai: {enable_auth: false}}`,
			read: func(p *runplan.RunPlan) any { return len(p.Deployment.Options) }, want: 0},
		{name: "the service account is replaced", over: `{runtime: {service_account_name: over}}`,
			read: pods("service_account_name"), want: "over"},
		{name: "environments merge by key", over: `{runtime: {env: {B: over, C: over}}}`,
			model: `{runtime: {env: {C: model}}}`,
			read:  func(p *runplan.RunPlan) any { return p.Deployment.Env },
			want:  map[string]string{"A": "profile", "B": "over", "C": "model"}},
		{name: "a blank variable is removed", over: `{runtime: {env: {A: " ", C: over}}}`, model: `{runtime: {env: {C: ""}}}`,
			read: func(p *runplan.RunPlan) any { return p.Deployment.Env }, want: map[string]string{"B": "profile"}},
		{name: "a blank variable of the load is removed", over: `{benchmark: {env: {LEVEL: ""}}}`,
			read: func(p *runplan.RunPlan) any { return p.Measurements[0].Env }, want: map[string]string{"KEEP": "profile"}},
		{name: "the load's environment merges by key", over: `{benchmark: {env: {LEVEL: over}}}`,
			model: `{benchmark: {env: {MORE: model}}}`,
			read:  func(p *runplan.RunPlan) any { return p.Measurements[0].Env },
			want:  map[string]string{"KEEP": "profile", "LEVEL": "over", "MORE": "model"}},
		{name: "vllm_args of a stronger layer replace the list", over: `{runtime: {vllm_args: [--over]}}`, read: args,
			want: []string{"--over"}},
		{name: "an empty vllm_args clears the list", over: `{runtime: {vllm_args: []}}`, read: args, want: []string{}},
		{name: "vllm_extra_args of every layer are appended", over: `{runtime: {vllm_extra_args: [--x]}}`,
			model: `{runtime: {vllm_extra_args: [--x, --y]}}`,
			read:  args, want: []string{"--profile", "--x", "--x", "--y"}},
		{name: "host paths are replaced as a whole",
			over: `{runtime: {host_paths: [{name: o, host_path: /o, mount_path: /o}]}}`,
			read: pods("host_paths"), want: object(`[{"name":"o","host_path":"/o","mount_path":"/o"}]`)},
		{name: "an empty list of host paths clears them", over: `{runtime: {host_paths: []}}`, read: pods("host_paths"),
			want: nil},
		{name: "null clears the node selector", over: `{runtime: {node_selector: null}}`, read: pods("node_selector"),
			want: nil},
		{name: "a node selector is replaced, not merged", model: `{runtime: {node_selector: {zone: a}}}`,
			read: pods("node_selector"), want: object(`{"zone":"a"}`)},
		{name: "tolerations are replaced", over: `{runtime: {tolerations: [{key: over}]}}`, read: pods("tolerations"),
			want: object(`[{"key":"over"}]`)},
		{name: "an empty affinity clears it", over: `{runtime: {affinity: {}}}`, read: pods("affinity"), want: nil},
		{name: "an empty placement clears it", over: `{runtime: {placement: {}}}`,
			read: func(p *runplan.RunPlan) any { return p.Execution.MaxParallel }, want: 0},
		{name: "sequential placement runs one point at a time",
			read: func(p *runplan.RunPlan) any { return p.Execution.MaxParallel }, want: 1},
		{name: "resources: profile less removals plus the override",
			over: `{runtime: {resources: {requests: {cpu: "8"}, remove_requests: [memory], remove_limits: [cpu]}}}`,
			read: pods("resources"),
			want: object(`{"requests":{"cpu":"8"},"remove_requests":["memory"],"remove_limits":["cpu","example.com/nic"]}`)},
		{name: "resources: the model's block replaces the experiment's",
			over: `{runtime: {resources: {requests: {cpu: "8"}}}}`, model: `{runtime: {resources: {limits: {memory: 9Gi}}}}`,
			read: pods("resources"),
			want: object(
				`{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"2","memory":"9Gi"},"remove_limits":["example.com/nic"]}`)},
		{name: "the profile's namespace beats the default", read: func(p *runplan.RunPlan) any { return p.Target.Namespace },
			want: "from-profile"},
		{name: "the experiment's namespace beats the profile's", rest: "  namespace: written",
			read: func(p *runplan.RunPlan) any { return p.Target.Namespace }, want: "written"},
		{name: "a flag beats the experiment's namespace", rest: "  namespace: written", set: "namespace=flag",
			read: func(p *runplan.RunPlan) any { return p.Target.Namespace }, want: "flag"},
		{name: "load values: the model beats overrides beats the profile", over: `{benchmark: {rates: [4]}}`,
			model: `{benchmark: {rates: [16]}}`, read: streams, want: 16},
		{name: "load values: overrides beat the profile", over: `{benchmark: {rates: [4]}}`, read: streams, want: 4},
		{name: "load values: a flag beats the model", model: `{benchmark: {rates: [16]}}`,
			set: "overrides.benchmark.rates=[32]", read: streams, want: 32},
		{name: "the endpoint's scope comes from the profile",
			read: func(p *runplan.RunPlan) any { return p.Deployment.EndpointScope }, want: "internal"},
		{name: "target.endpoint_scope beats the profile's", rest: "  target: {endpoint_scope: external}",
			read: func(p *runplan.RunPlan) any { return p.Deployment.EndpointScope }, want: "external"},
		{name: "an existing endpoint beats stages and scope",
			rest: "  target: {base_url: \"https://llm.example/\", endpoint_scope: internal}\n  stages: {download: true, " +
				"deploy: true, cleanup: true, collect: true}",
			read: func(p *runplan.RunPlan) any {
				return []any{p.Execution.Phases, p.Deployment.EndpointScope, p.Deployment.Endpoint.BaseURL}
			},
			want: []any{runplan.Phases{Benchmark: true}, "external", "https://llm.example"}},
		{name: "an existing endpoint with a release is asked about",
			rest: "  target: {base_url: \"https://llm.example\", metrics_release_name: live}\n  stages: {collect: false}",
			read: func(p *runplan.RunPlan) any { return p.Execution.Phases },
			want: runplan.Phases{Benchmark: true, Collect: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.read(onePlan(t, row.over, row.model, row.rest, row.set)); !reflect.DeepEqual(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

// onePlan plans the layered experiment with further lines.
func onePlan(t *testing.T, over, model, rest, set string) *runplan.RunPlan {
	t.Helper()
	text := layered
	if over != "" {
		text += "  overrides: " + over + "\n"
	}
	if model != "" {
		text += "  model_overrides: {acme/tiny-1b: " + model + "}\n"
	}
	opt := spec.Options{ProfileDirs: []string{"testdata/profiles"}}
	if set != "" {
		opt.Set = []string{set}
	}
	loaded, problems := spec.LoadBytes(opt, "layers.yaml", []byte(text+rest))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	plans, problems := Plan(loaded.Experiments[0], loaded.Catalogue, Options{})
	if err := problems.Err(); err != nil || len(plans) != 1 {
		t.Fatalf("%d plans, %v", len(plans), err)
	}
	return plans[0]
}

func TestMaxModelLen(t *testing.T) {
	for _, row := range []struct {
		name string
		args string
		need int
		want string
	}{
		{"no length and no need: none", "--a", 0, "--a"},
		{"the need of the load is appended", "--a", 8192, "--a --max-model-len=8192"},
		{"the option moves to the end", "--max-model-len=100 --a", 0, "--a --max-model-len=100"},
		{"the value may be the next argument", "--max-model-len 100 --a", 0, "--a --max-model-len=100"},
		{"underscores are the same option", "--max_model_len=100", 0, "--max-model-len=100"},
		{"the last value counts", "--max-model-len=100 --a --max_model_len 50", 0, "--a --max-model-len=50"},
		{"the larger of option and need counts", "--max-model-len=100", 50, "--max-model-len=100"},
		{"k is a thousand", "--max-model-len=8k", 0, "--max-model-len=8000"},
		{"K is 1024", "--max-model-len=8K", 0, "--max-model-len=8192"},
		{"a decimal k is taken", "--max-model-len=25.6k", 0, "--max-model-len=25600"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := withMaxModelLen(strings.Fields(row.args), row.need)
			if joined := strings.Join(got, " "); err != nil || joined != row.want {
				t.Errorf("got %q, %v, want %q", joined, err, row.want)
			}
		})
	}
	for _, bad := range []string{"--max-model-len", "--max-model-len=auto", "--max-model-len=-1", "--max-model-len=1.5"} {
		if args, err := withMaxModelLen([]string{bad}, 0); err == nil {
			t.Errorf("%q gives %q", bad, args)
		}
	}
}
