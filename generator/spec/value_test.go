package spec

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bflow.dev/bflow/load"
	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/platform"
)

// loaded is an experiment that must have no errors.
func loaded(t *testing.T, fragment string, set ...string) *Experiment {
	t.Helper()
	s, found := LoadBytes(Options{Shipped: shippedFS(), Set: set}, "t.yaml",
		[]byte(makeDocument(KindExperiment, fragment)))
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return s.Experiments[0]
}

func TestDefaultsOfAnExperiment(t *testing.T) {
	got := loaded(t,
		"load: {data: {prefixes: [{tokens: 5}]}, stages: [{rate: 1, duration: 1m}]}\nslo: {}\nqueue: {}\npins: {}").Spec
	rate := shape.Choice{RateField: shape.RateField{Rate: load.List[float64]{1}}}
	want := ExperimentSpec{
		Model:             Model{Name: Axis[string]{"acme/tiny-1b"}},
		DeploymentProfile: Axis[string]{"plain"}, BenchmarkProfile: Axis[string]{"chat"},
		MetricsProfile: Axis[string]{"detailed"},
		Stages:         Phases{Download: true, Deploy: true, Benchmark: true, Collect: true, Cleanup: true},
		Execution:      Execution{Timeout: 3 * time.Hour, VerifyCompletions: true, Samples: 1, OnInvalid: "mark"},
		Matrix:         Matrix{Repeat: 1, Order: "sequential"},
		SLO:            &SLO{OnBreach: "report"},
		ToolRunner:     "auto",
		Queue:          &Queue{Isolation: "shared"},
		Pins:           &Pins{Require: "none"},
		Load: &load.NativeBlock{
			API: load.NativeAPI{Stream: true, Timeout: 10 * time.Minute, VerifyTLS: true, ExactOutput: true},
			Data: load.NativeData{Turns: 1, FreshPerStage: true, Seed: 42,
				Prefixes: []load.Prefix{{Weight: 1, Count: load.Count{N: 1}, Tokens: 5}}},
			Stages: []load.NativeStage{{Measure: true, Choice: rate, Duration: time.Minute}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDefaultsOfProfiles(t *testing.T) {
	text := makeDocument(KindDeployment,
		"runtime: {host_paths: [{name: a, host_path: /a, mount_path: /b}]}\noptions: {storage_offloading: {enabled: true}}")
	set, _ := LoadBytes(Options{CheckAll: true}, "t.yaml", []byte(text+"---\n"+makeDocument(KindMetrics, "queries: {}")))
	d, _ := set.Catalogue.Deployment("t", nil, "")
	want := DeploymentSpec{Block: platform.Block{
		Platform: "rhaiis", Mode: "raw-vllm",
		Runtime: platform.Runtime{Replicas: 1, TensorParallelism: 1,
			HostPaths: []platform.HostPath{{Name: "a", HostPath: "/a", MountPath: "/b"}}},
		ModelStorage: platform.ModelStorage{PVCName: "models-storage", CacheDir: "/models", MountPath: "/model-cache"},
		Gateway:      "istio", EndpointPath: "/v1/models", EndpointScope: "external",
		Options: platform.Options{StorageOffloading: &platform.StorageOffloading{
			Enabled: true, Type: "pvc", MountPath: "/mnt/files-storage", StorageEventsPort: 5559}},
	}}
	if diff := cmp.Diff(want, d.Spec); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	m, _ := set.Catalogue.Metrics("t", nil, "")
	if m.Spec.QueryStep != 15*time.Second || m.Spec.QueryTimeout != 30*time.Second || m.Spec.VerifyTLS {
		t.Errorf("want 15s, 30s, false, got %+v", m.Spec)
	}
}

func TestValuesAreReadAsTheFormatSays(t *testing.T) {
	for _, row := range []struct {
		name, fragment string
		got            func(*ExperimentSpec) any
		want           any
	}{
		{"text keeps its source", "mlflow: {version: 1.10, tags: {a: true, b: 007, c: 1e3}}",
			func(s *ExperimentSpec) any { return s.MLflow }, MLflow{Version: "1.10",
				Tags: map[string]string{"a": "true", "b": "007", "c": "1e3"}}},
		{"booleans in every spelling",
			"stages: {download: No, deploy: OFF, benchmark: \"1\", collect: \"no\", cleanup: True}",
			func(s *ExperimentSpec) any { return s.Stages }, Phases{Benchmark: true, Cleanup: true}},
		{"booleans in quotes and between blanks",
			"stages: {download: 'No', deploy: \" TRUE \", benchmark: ' yes ', collect: \"0 \", cleanup: ' False'}",
			func(s *ExperimentSpec) any { return s.Stages }, Phases{Deploy: true, Benchmark: true}},
		{"booleans as numbers, and with or without quotes",
			"stages: {download: 0, deploy: 1, benchmark: \"on\", collect: 'off', cleanup: yEs}",
			func(s *ExperimentSpec) any { return s.Stages }, Phases{Deploy: true, Benchmark: true, Cleanup: true}},
		{"blanks alone say nothing", "execution: {timeout: \"\", samples: ' '}\nstages: {deploy: \"\"}",
			func(s *ExperimentSpec) any { return []any{s.Execution.Timeout, s.Execution.Samples, s.Stages.Deploy} },
			[]any{3 * time.Hour, 1, true}},
		{"words in any case", "matrix: {order: Shuffled}\nslo: {on_breach: \" FAIL \"}",
			func(s *ExperimentSpec) any { return []string{s.Matrix.Order, s.SLO.OnBreach} }, []string{"shuffled", "fail"}},
		{"integers in quotes as without", "overrides: {scale: {replicas: \"2e1\"}}",
			func(s *ExperimentSpec) any { return s.Overrides.Scale.Replicas }, Axis[int]{20}},
		{"blanks round texts of fields and maps",
			"service_account: \" sa1 \"\ntarget: {base_url: \" https://x.example/ \"}\nexecution: {profiling: " +
				"{call_ranges: \" 100 - 150 \"}}\noverrides: {runtime: {env: {A: \" x\\t\"}}}",
			func(s *ExperimentSpec) any {
				return []string{s.ServiceAccount, s.Target.BaseURL, s.Execution.Profiling.CallRanges, s.Overrides.Runtime.Env["A"]}
			}, []string{"sa1", "https://x.example", "100 - 150", "x"}},
		{"a block keeps its shape",
			"overrides: {benchmark: {env: {A: x}}}\nmlflow:\n  tags:\n    a: |\n      one\n      two\n",
			func(s *ExperimentSpec) any { return s.MLflow.Tags["a"] }, "one\ntwo\n"},
		{"integers from numeric text", "overrides: {scale: {replicas: [\"3\", 0x10, 1_000, 2.0]}}",
			func(s *ExperimentSpec) any { return s.Overrides.Scale.Replicas }, Axis[int]{3, 16, 1000, 2}},
		{"durations of several parts", "execution: {timeout: 1h30m0.5s250ms}",
			func(s *ExperimentSpec) any { return s.Execution.Timeout }, 90*time.Minute + 750*time.Millisecond},
		{"blank entries are dropped, blanks trimmed", "overrides: {runtime: {vllm_extra_args: [\" --a \", \"\", ~, --b]}}",
			func(s *ExperimentSpec) any { return s.Overrides.Runtime.VLLMExtraArgs }, []string{"--a", "--b"}},
		{"an empty value of a map is not set", "overrides: {runtime: {env: {A: , B: x}}}",
			func(s *ExperimentSpec) any { return s.Overrides.Runtime.Env }, map[string]string{"B": "x"}},
		{"a cleared list is set", "overrides: {runtime: {vllm_args: []}}",
			func(s *ExperimentSpec) any { return s.Overrides.Runtime.VLLMArgs },
			Replace[[]string]{Set: true, Value: []string{}}},
		{"a null list of arguments is not set", "overrides: {runtime: {vllm_args: ~}}",
			func(s *ExperimentSpec) any { return s.Overrides.Runtime.VLLMArgs }, Replace[[]string]{}},
		{"a null placement clears", "overrides:\n  runtime:\n    placement:",
			func(s *ExperimentSpec) any { return s.Overrides.Runtime.Placement }, Replace[platform.Placement]{Set: true}},
		{"a trailing slash of the endpoint is dropped", "target: {base_url: \"https://x.example//\"}",
			func(s *ExperimentSpec) any { return s.Target.BaseURL }, "https://x.example"},
		{"multiples of the load value", "overrides: {benchmark: {max_requests: 5*Concurrency}}",
			func(s *ExperimentSpec) any { return s.Overrides.Benchmark.MaxRequests }, load.Count{N: 5, PerLoad: true}},
		{"merges are weaker than keys, the first merge stronger than the second",
			"mlflow: {tags: &a {x: 1, y: 1}}\noverrides: {runtime: {env: &b {y: 2, z: 2}}, benchmark: {env: {<<: [*a, *b], " +
				"x: 3}}}",
			func(s *ExperimentSpec) any { return s.Overrides.Benchmark.Env }, map[string]string{"x": "3", "y": "1", "z": "2"}},
		{"a bare number is a fixed length", "load: {data: {input: 900}, stages: [{rate: 1, duration: 1s}]}",
			func(s *ExperimentSpec) any { return *s.Load.Data.Input }, load.Length{Mean: 900}},
		{"skips as share, seconds, duration and form",
			"load: {stages: [{rate: 1, duration: 1m, skip_first: 0.1, skip_last: 5s}, {rate: 1, requests: 60, skip_first: " +
				"20, skip_last: {value: 3, mode: requests}}]}",
			func(s *ExperimentSpec) any {
				a, b := s.Load.Stages[0], s.Load.Stages[1]
				return []load.Skip{a.SkipFirst, a.SkipLast, b.SkipFirst, b.SkipLast}
			}, []load.Skip{{Number: 0.1}, {Duration: 5 * time.Second}, {Number: 20},
				{SkipForm: load.SkipForm{Value: new(3.0), Mode: "requests"}}}},
		{"a cluster by name", "target_clusters: [local, {name: b, queue: q}]",
			func(s *ExperimentSpec) any { return s.TargetClusters }, []ClusterAt{{Name: "local"}, {Name: "b", Queue: "q"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := row.got(&loaded(t, row.fragment).Spec)
			if diff := cmp.Diff(row.want, got, cmpopts.IgnoreUnexported(Doc{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestMergeEngine(t *testing.T) {
	ms := func(n int) *time.Duration { d := time.Duration(n) * time.Millisecond; return &d }
	base := &Engine{Kind: "sim", Image: "a", Sim: &Sim{TTFT: ms(50), ITL: ms(10)}}
	got := MergeEngine(base, &Engine{Image: "b", Sim: &Sim{ITL: ms(0)}})
	want := &Engine{Kind: "sim", Image: "b", Sim: &Sim{TTFT: ms(50), ITL: ms(0)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if *base.Sim.ITL != 10*time.Millisecond || MergeEngine(nil, base) != base || MergeEngine(base, nil) != base {
		t.Error("want base untouched, and the other one when one is nil")
	}
}

func TestCheckImageAfterEveryOverride(t *testing.T) {
	made := func(b platform.Block, e *Engine) DeploymentSpec { return DeploymentSpec{Block: b, Engine: e} }
	for _, row := range []struct {
		name string
		spec DeploymentSpec
		want int
	}{
		{"rhaiis needs an image", made(platform.Block{Platform: "rhaiis", Mode: "raw-vllm"}, nil), 1},
		{"isvc needs an image", made(platform.Block{Platform: "rhoai", Mode: "isvc"}, nil), 1},
		{"mooncake needs an image", made(platform.Block{Platform: "rhoai", Mode: "distributed-default",
			Options: platform.Options{MooncakeStore: &platform.MooncakeStore{}}}, nil), 1},
		{"other modes have one of their own", made(platform.Block{Platform: "rhoai", Mode: "distributed-default"}, nil), 0},
		{"an image", made(platform.Block{Platform: "rhaiis", Runtime: platform.Runtime{Image: "a"}}, nil), 0},
		{"an engine's image", made(platform.Block{Platform: "rhaiis"}, &Engine{Kind: "vllm", Image: "a"}), 0},
		{"the simulated engine has its own", made(platform.Block{Platform: "rhaiis"}, &Engine{Kind: "sim"}), 0},
	} {
		if got := CheckImage(&row.spec, platform.All()); len(got) != row.want {
			t.Errorf("%s: got %v", row.name, got)
		}
	}
}

func TestFreeObjectsAreWrittenAsJSON(t *testing.T) {
	roots, _ := parse("t", []byte("a: {b: [1, 0.5, yes, \"x\"], c: }\n"))
	for _, row := range []struct {
		name string
		got  interface{ MarshalJSON() ([]byte, error) }
		want string
	}{
		{"an object", load.Object{Node: roots[0]}, `{"a":{"b":[1,0.5,"yes","x"],"c":null}}`},
		{"an object that is not set", load.Object{}, "null"},
		{"a probe that is off", platform.Probe{Off: true}, "false"},
		{"a patch of a probe", platform.Probe{Patch: load.Object{Node: roots[0]}}, `{"a":{"b":[1,0.5,"yes","x"],"c":null}}`},
	} {
		if text, err := row.got.MarshalJSON(); err != nil || string(text) != row.want {
			t.Errorf("%s: got %s, %v", row.name, text, err)
		}
	}
}
