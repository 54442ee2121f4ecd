package spec

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/load"
)

func TestSetChangesWhatTheFileSays(t *testing.T) {
	const file = `overrides: {scale: {replicas: [1, 2]}, runtime: {vllm_extra_args: [--a], resources: {requests: {cpu: 1}}}}
model_overrides:
  acme/tiny-1b: {scale: {replicas: 8}, runtime: {env: {A: 1, B: 2}, vllm_extra_args: [--b], resources: {requests: {cpu: 2}}}}
load: {stages: [{rate: 1, duration: 1m}]}`
	for _, row := range []struct {
		name string
		set  []string
		got  func(*ExperimentSpec) any
		want any
	}{
		{"a number", []string{"load.stages[0].rate=4"}, func(s *ExperimentSpec) any { return s.Load.Stages[0].Rate },
			load.List[float64]{4}},
		{"text keeps its source", []string{"mlflow.version=1.10"}, func(s *ExperimentSpec) any { return s.MLflow.Version },
			"1.10"},
		{"an empty value takes the field away", []string{"overrides.scale.replicas="},
			func(s *ExperimentSpec) any { return s.Overrides.Scale.Replicas }, Axis[int](nil)},
		{"a list makes an axis where a field has one", []string{"overrides.scale.replicas=[3, 4]"},
			func(s *ExperimentSpec) any { return s.Overrides.Scale.Replicas }, Axis[int]{3, 4}},
		{"a list makes an axis by path elsewhere", []string{"execution.samples=[1, 3]"},
			func(s *ExperimentSpec) any { return s.Matrix.Axes[0].Path }, "execution.samples"},
		{"a list stays a list where the field is one", []string{"overrides.runtime.vllm_args=[--x]"},
			func(s *ExperimentSpec) any { return s.Overrides.Runtime.VLLMArgs.Value }, []string{"--x"}},
		{"a mapping", []string{"engine={kind: sim}"}, func(s *ExperimentSpec) any { return s.Engine.Kind }, "sim"},
		{"a new section", []string{"queue.isolation=exclusive"}, func(s *ExperimentSpec) any { return s.Queue.Isolation },
			"exclusive"},
		{"a quoted key, and = inside of it", []string{`overrides.runtime.node_selector["a.b/c"]=d`},
			func(s *ExperimentSpec) any { return s.Overrides.Runtime.NodeSelector.Value }, map[string]string{"a.b/c": "d"}},
		{"another spelling", []string{"matrix.maxParallel=3"}, func(s *ExperimentSpec) any { return s.Matrix.MaxParallel },
			3},
		{"a later flag wins", []string{"namespace=a", "namespace=b"}, func(s *ExperimentSpec) any { return s.Namespace },
			"b"},
		{"a flag beats the model's overrides", []string{"overrides.scale.replicas=3"},
			func(s *ExperimentSpec) any { return s.ModelOverrides["acme/tiny-1b"].Scale.Replicas }, Axis[int](nil)},
		{"a flag beats one key of the model's environment", []string{"overrides.runtime.env.A=9"},
			func(s *ExperimentSpec) any { return s.ModelOverrides["acme/tiny-1b"].Runtime.Env }, map[string]string{"B": "2"}},
		{"a flag goes into the model's resources, which replace the experiment's",
			[]string{"overrides.runtime.resources.requests.cpu=9"},
			func(s *ExperimentSpec) any { return s.ModelOverrides["acme/tiny-1b"].Runtime.Resources.Requests },
			map[string]string{"cpu": "9"}},
		{"extra arguments are appended, so the model's stay", []string{"overrides.runtime.vllm_extra_args=[--c]"},
			func(s *ExperimentSpec) any { return s.ModelOverrides["acme/tiny-1b"].Runtime.VLLMExtraArgs }, []string{"--b"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, row.got(&loaded(t, file, row.set...).Spec)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestSetBeatsAnAxisByPath(t *testing.T) {
	e := loaded(t, "matrix: {axes: {execution.samples: [1, 2]}}", "execution.samples=5")
	if len(e.Spec.Matrix.Axes) != 0 || e.Spec.Execution.Samples != 5 {
		t.Errorf("want no axis and 5 samples, got %+v", e.Spec.Matrix)
	}
}

// wholeAxes are the axes of e: path and values as JSON.
func wholeAxes(t *testing.T, e *Experiment) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, a := range e.Spec.Matrix.Axes {
		var values []any
		for _, n := range a.Values {
			var v any
			if err := n.Decode(&v); err != nil {
				t.Fatal(err)
			}
			values = append(values, v)
		}
		text, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		out[a.Path] = string(text)
	}
	return out
}

func TestSetHoldsAgainstAxesAboveAndBelow(t *testing.T) {
	const load = "load: {data: {input: 8, output: 8}, stages: [{rate: 1, duration: 1m}]}\n"
	for _, row := range []struct {
		name, file string
		set        []string
		axes       map[string]string
		got        func(*ExperimentSpec) any
		want       any
	}{
		{name: "an axis below gives way to the whole", file: "matrix: {axes: {engine.sim.itl: [4ms, 8ms]}}",
			set:  []string{"engine={kind: sim}"},
			axes: map[string]string{}, got: func(s *ExperimentSpec) any { return s.Engine.Sim == nil }, want: true},
		{name: "a value goes into each value of an axis above",
			file: "matrix: {axes: {engine: [{kind: sim, port: 1}, {kind: sim, port: 2}]}}",
			set:  []string{"engine.sim.itl=3ms"}, axes: map[string]string{
				"engine": `[{"kind":"sim","port":1,"sim":{"itl":"3ms"}},{"kind":"sim","port":2,"sim":{"itl":"3ms"}}]`}},
		{name: "an axis above that then varies nothing is none",
			file: "matrix: {axes: {execution: [{samples: 1}, {samples: 2}]}}",
			set:  []string{"execution.samples=5"}, axes: map[string]string{},
			got: func(s *ExperimentSpec) any { return s.Execution.Samples }, want: 5},
		{name: "values that are short forms are written out", file: load + "matrix: {axes: {load.data.input: [16, 64]}}",
			set: []string{"load.data.input.stdev=4"}, axes: map[string]string{
				"load.data.input": `[{"mean":16,"stdev":4},{"mean":64,"stdev":4}]`}},
		{name: "an axis in another spelling", file: "matrix: {axes: {'engine[\"port\"]': [1, 2]}}",
			set:  []string{"engine.port=3"},
			axes: map[string]string{}, got: func(s *ExperimentSpec) any { return *s.Engine.Port }, want: 3},
		{name: "a list takes the place of an axis in another spelling",
			file: "matrix: {axes: {'engine[\"port\"]': [1, 2], engine.kind: [sim, vllm]}}",
			set:  []string{"engine.port=[3, 4]"}, axes: map[string]string{"engine.port": "[3,4]",
				"engine.kind": `["sim","vllm"]`}},
		{name: "a value goes into an axis that a flag made", file: "namespace: perf",
			set:  []string{"engine=[{port: 1}, {port: 2}]", "engine.kind=sim"},
			axes: map[string]string{"engine": `[{"kind":"sim","port":1},{"kind":"sim","port":2}]`}},
		{name: "an axis of a profile stays",
			file: "matrix: {axes: {deployment.engine: [{kind: sim, port: 1}, {kind: sim, port: 2}]}}",
			set:  []string{"engine.port=3"},
			axes: map[string]string{"deployment.engine": `[{"kind":"sim","port":1},{"kind":"sim","port":2}]`}},
		{name: "a point that is included loses what the flag sets",
			file: "matrix: {include: [{execution.samples: 9, namespace: other}]}", set: []string{"execution.samples=5"},
			axes: map[string]string{}, got: func(s *ExperimentSpec) any { return len(s.Matrix.Include[0]) }, want: 1},
		{name: "all overrides beat all of a model", file: "model_overrides: {acme/tiny-1b: {scale: {replicas: 8}}}",
			set:  []string{"overrides={scale: {replicas: 2}}"},
			axes: map[string]string{}, got: func(s *ExperimentSpec) any {
				return len(s.ModelOverrides["acme/tiny-1b"].Scale.Replicas)
			}, want: 0},
		{name: "a key that the file spells otherwise", file: "matrix: {maxParallel: 2}",
			set:  []string{"matrix.max_parallel=4"},
			axes: map[string]string{}, got: func(s *ExperimentSpec) any { return s.Matrix.MaxParallel }, want: 4},
		{name: "a part of a short form", file: load, set: []string{"load.data.input.stdev=2"}, axes: map[string]string{},
			got: func(s *ExperimentSpec) any { return s.Load.Data.Input.Mean }, want: 8.0},
		{name: "a part of a cluster that is written as its name", file: "target_clusters: [lab-a]",
			set: []string{"target_clusters[0].queue=fast"}, axes: map[string]string{},
			got: func(s *ExperimentSpec) any { return s.TargetClusters[0] }, want: ClusterAt{Name: "lab-a", Queue: "fast"}},
		{name: "an entry of a list that is written as its one value", file: "model: {name: acme/tiny-1b}",
			set: []string{"model.name[0]=acme/mid-8b"}, axes: map[string]string{},
			got: func(s *ExperimentSpec) any { return s.Model.Name }, want: Axis[string]{"acme/mid-8b"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := loaded(t, row.file, row.set...)
			if diff := cmp.Diff(row.axes, wholeAxes(t, e)); diff != "" {
				t.Errorf("axes (-want +got)\n%s", diff)
			}
			if row.got == nil {
				return
			}
			if diff := cmp.Diff(row.want, row.got(&e.Spec)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestMistakesInSetNameTheFlag(t *testing.T) {
	for _, row := range []struct{ name, set, want string }{
		{"no value", "namespace", "--set namespace: want path=value, such as load.stages[0].rate=4"},
		{"a broken path", "a..b=1", `--set a..b=1: reading path "a..b": want a key before ".b"`},
		{"an unknown path", "overrides.scale.replcas=1",
			`--set overrides.scale.replcas=1: spec.overrides.scale.replcas: unknown field "replcas" (did you mean "replicas"?)`},
		{"a value of the wrong type", "overrides.scale.replicas=x",
			`--set overrides.scale.replicas=x: spec.overrides.scale.replicas: want an integer, found "x"`},
		{"a wrong field in a mapping", "queue={nam: a}",
			`--set queue={nam: a}: spec.queue.nam: unknown field "nam" (did you mean "name"?)`},
		{"an index that is not there", "load.stages[5].rate=1",
			"--set load.stages[5].rate=1: spec.load.stages[5].rate: want an index of at most 0, found 5"},
		{"an index between dots", "load.stages.1.rate=20",
			"--set load.stages.1.rate=20: spec.load.stages.1.rate: load.stages is a list: want load.stages[1]"},
		{"an index into a mapping", "queue[0]=1",
			"--set queue[0]=1: spec.queue[0]: queue is not a list, so there is no index [0]"},
		{"broken YAML", "namespace=[",
			"--set namespace=[: spec.namespace: want a YAML value: reading YAML: did not find expected node content"},
		{"an unknown profile", "deployment_profile=plian",
			`--set deployment_profile=plian: spec.deployment_profile: no DeploymentProfile named "plian"; closest: "plain" ` +
				`(1 in the catalogue)`},
		{"a rule between fields", "target.path=/x",
			"--set target.path=/x: spec.target.path: path needs base_url, the URL of an existing endpoint"},
	} {
		t.Run(row.name, func(t *testing.T) {
			opt := Options{Shipped: shippedFS(), Set: []string{row.set}}
			_, found := LoadBytes(opt, "t.yaml", []byte(makeDocument(KindExperiment, "namespace: perf")))
			if got := found.Error(); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func TestTwoOverridesOfOneValueAreAMistake(t *testing.T) {
	for _, row := range []struct {
		name string
		set  []string
		want string
	}{
		{"two lists for one element", []string{"overrides.scale.replicas=[1, 2]", "overrides.scale.replicas=[3]"},
			"--set overrides.scale.replicas=[3]: spec.overrides.scale.replicas: it removes what --set " +
				"overrides.scale.replicas=[1, 2] sets; keep one of them"},
		{"a list and a value", []string{"execution.samples=[1, 2]", "execution.samples=3"},
			"--set execution.samples=3: spec.execution.samples: it removes what --set execution.samples=[1, 2] sets; keep " +
				"one of them"},
		{"a list for the whole of what has a value", []string{"engine.kind=sim", "engine=[{port: 1}, {port: 2}]"},
			"--set engine=[{port: 1}, {port: 2}]: spec.engine: it removes what --set engine.kind=sim sets; keep one of them"},
		{"the whole of what has a list", []string{"execution.samples=[1, 2]", "execution={samples: 3}"},
			"--set execution={samples: 3}: spec.execution: it removes what --set execution.samples=[1, 2] sets; keep one " +
				"of them"},
		{"the whole after a part wins", []string{"mlflow.version=x", "mlflow={version: y}"}, ""},
		{"a part after the whole", []string{"mlflow={version: y}", "mlflow.version=x"}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, found := LoadBytes(Options{Shipped: shippedFS(), Set: row.set}, "t.yaml",
				[]byte(makeDocument(KindExperiment, "namespace: perf")))
			if got := found.Error(); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func TestMistakesInSetBesideAnAxisNameTheFlag(t *testing.T) {
	for _, row := range []struct{ name, file, set, want string }{
		{"a value that does not fit", "matrix: {axes: {engine: [{kind: sim}, {kind: vllm}]}}", "engine.port=x",
			"--set engine.port=x: spec.matrix.axes.engine[0].port: want an integer, found \"x\"\n--set engine.port=x: " +
				"spec.matrix.axes.engine[1].port: want an integer, found \"x\""},
		{"a value that cannot be put there", "matrix: {axes: {execution.profiling: [{enabled: true}, 7]}}",
			"execution.profiling.idle_seconds=3",
			"--set execution.profiling.idle_seconds=3: spec.matrix.axes[\"execution.profiling\"][1].idle_seconds: want a " +
				"mapping to hold idle_seconds, found \"7\"\n" +
				"t.yaml:5:58: spec.matrix.axes[\"execution.profiling\"][1]: want a mapping, found \"7\""},
		{"a point of which nothing is left", "matrix: {include: [{execution.samples: 9}]}", "execution.samples=5",
			"--set execution.samples=5: spec.matrix.include[0]: the flag overrides every value of this point, so the point " +
				"has no effect; remove it"},
	} {
		t.Run(row.name, func(t *testing.T) {
			opt := Options{Shipped: shippedFS(), Set: []string{row.set}}
			_, found := LoadBytes(opt, "t.yaml", []byte(makeDocument(KindExperiment, row.file)))
			if got := found.Error(); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

// Points of a matrix are decoded from changed trees: positions stay, and the first tree is not touched.
func TestAChangedTreeIsDecodedAgain(t *testing.T) {
	e := loaded(t, "overrides: {scale: {replicas: 2}}\nmatrix: {axes: {overrides.runtime.env.SEED: [7, 8]}}")
	axis := e.Spec.Matrix.Axes[0]
	p, err := ParsePath("spec." + axis.Path)
	if err != nil {
		t.Fatal(err)
	}
	root, err := With(e.Root, p, axis.Values[1])
	if err != nil {
		t.Fatal(err)
	}
	point, found := DecodeExperiment(&e.Doc, root)
	if len(found) > 0 || point.Spec.Overrides.Runtime.Env["SEED"] != "8" || e.Spec.Overrides.Runtime.Env != nil {
		t.Errorf("want SEED 8 in the point alone, got %v, %v, %v", point.Spec.Overrides.Runtime.Env,
			e.Spec.Overrides.Runtime.Env, found)
	}
	if got := point.Problem("spec.overrides.runtime.env.SEED", "x").Error(); !strings.HasPrefix(got, "t.yaml:6:51: ") {
		t.Errorf("want the place of the value in the list, got %s", got)
	}
}
