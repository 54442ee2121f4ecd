package format

import (
	"os"
	"testing"
	"testing/fstest"

	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/pipelines/check"
)

// read resolves a file of testdata that must have no errors, and checks what it compiles to.
func read(t *testing.T, opt spec.Options, file string, warnings string) outcome {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	o := resolve(opt, plan.Options{Submitted: true}, file, text)
	same(t, "warnings", warnings, o.problems.Warnings())
	same(t, "errors", "", o.problems.Errors())
	if t.Failed() {
		t.FailNow()
	}
	checker, err := check.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := checker.Stream(o.compiled(t)); err != nil {
		t.Errorf("compiled objects: %v", err)
	}
	return o
}

func (o outcome) want(t *testing.T, rows map[string]any) {
	t.Helper()
	tree := map[string]any{"plans": plain(t, o.plans)}
	for path, want := range rows {
		for _, diff := range differs(path, want, look(t, tree, path)) {
			t.Error(diff)
		}
	}
}

type (
	fields = map[string]any
	list   = []any
)

// The four examples that end the description become what their comments promise.
func TestTheExamplesOfTheFormatDoWhatTheirCommentsSay(t *testing.T) {
	o := read(t, spec.Options{}, "examples.yaml", "")
	if len(o.plans) != 1+6+1+1 {
		t.Fatalf("want 9 plans, got %d", len(o.plans))
	}
	stage := func(measure bool, streams, prefixes, turns int, duration string) fields {
		s := fields{"measure": measure, "shape": "closed", "concurrency": streams, "duration": duration, "requests": nil}
		if turns > 0 {
			s["requests"] = turns
		}
		s["prefixes"] = list{fields{"count": prefixes, "tokens": 1500}}
		return s
	}
	rows := fields{
		"plans[0].name":   "tiny-docs",
		"plans[0].labels": fields{"team": "search"},
		"plans[0].measurements[0].stages": list{stage(false, 4, 8, 0, "20s"), stage(true, 4, 8, 80, "2m0s"),
			stage(true, 16, 32, 320, "2m0s")},
		"plans[0].measurements[0].data": fields{"input": fields{"mean": 300}, "output": fields{"mean": 100}, "turns": 2},
		"plans[0].deployment.args":      list{"--max-model-len=8192"},
		"plans[0].timeouts.tasks":       "45m0s",

		"plans[1].name":                "scale-out-m1",
		"plans[6].name":                "scale-out-m6",
		"plans[1].measurements[0].api": fields{"type": "completions", "path": "/v1/completions"},
		"plans[1].measurements[0].stages": list{stage(false, 4, 8, 0, "20s"), stage(true, 8, 16, 160, "2m0s"),
			stage(true, 32, 64, 640, "2m0s")},

		"plans[7].name":                   "live-check",
		"plans[7].measurements[0].stages": list{stage(false, 4, 8, 0, "20s"), stage(true, 2, 4, 10, "1m0s")},
		"plans[7].execution.phases": fields{"download": false, "deploy": false, "benchmark": true,
			"collect": true, "cleanup": false},
		"plans[7].deployment.endpoint": fields{"baseURL": "https://llm.example", "metricsRelease": "mid-8b-live"},
		"plans[7].queue.requests":      fields{"nvidia.com/gpu": nil},

		"plans[8].target": fields{"name": "lab-a", "namespace": "perf", "kubeconfigSecret": "lab-a",
			"hostAliases": fields{"api.lab-a.example": "192.0.2.10"}},
		"plans[8].queue.name":     "lab-a",
		"plans[8].deployment.env": fields{"LOG": "debug"},
		"plans[8].deployment.runtime": fields{"node_selector": fields{"pool": "gpu"},
			"resources": fields{"requests": fields{"cpu": "8"}, "remove_limits": list{"memory"}}},
		"plans[8].sinks.mlflow": fields{"experiment": "nightly", "tags": fields{"accelerator": "H100"}},
	}
	o.want(t, rows)
	for i, p := range o.plans[1:7] {
		model, tp, extra := "acme/tiny-1b", 1, 0
		if i >= 3 {
			model, tp, extra = "acme/mid-8b", 2, 1
		}
		d := p.Deployment
		if d.Model.Name != model || d.TensorParallel != tp || d.Replicas != []int{1, 2, 4}[i%3] || len(d.Args) != 1+extra {
			t.Errorf("point %d: %s, tensor parallelism %d, %d replicas, arguments %q",
				i+1, d.Model.Name, d.TensorParallel, d.Replicas, d.Args)
		}
	}
}

// unpinned is what pins.require: warn says of images whose digest only a lock file knows.
func unpinned() string {
	text := ""
	for _, task := range []string{"collect", "load-gen", "mlflow-push", "provision", "sim-engine", "smoketest"} {
		text += "additions.yaml:16:94: spec.pins.require: image of task " + task +
			" is not pinned; add it to spec.pins, to the image lock, or use --pin\n"
	}
	return text
}

// The example of the additions is 24 runs: 2 clusters, 2 block sizes, 2 shapes, 3 repeats.
func TestTheExampleOfTheAdditionsIs24Runs(t *testing.T) {
	profile := fstest.MapFS{
		"plain.yaml":   {Data: deploymentProfile("plain-vllm", "")},
		"metrics.yaml": {Data: row{}.catalogue()[metricsFile].Data},
	}
	o := read(t, spec.Options{Shipped: profile}, "additions.yaml", unpinned())
	if len(o.plans) != 24 {
		t.Fatalf("want 24 plans, got %d", len(o.plans))
	}
	points := map[string]int{}
	for _, p := range o.plans {
		d := p.Deployment
		if d.Replicas*d.TensorParallel != 2 || d.Engine.Kind != "sim" || p.Execution.MaxParallel != 2 ||
			p.Queue.Priority != "nightly" || p.Queue.Requests["bflow.dev/cluster-slot"] != "100" {
			t.Errorf("%s: %d x %d, %s, %+v", p.Name, d.Replicas, d.TensorParallel, d.Engine.Kind, p.Queue)
		}
		points[p.Target.Name+d.Env["BLOCK"]+string(rune('0'+d.Replicas))]++
	}
	if len(points) != 8 {
		t.Errorf("want 8 points, got %v", points)
	}
	for point, n := range points {
		if n != 3 {
			t.Errorf("%s runs %d times, want 3", point, n)
		}
	}
	o.want(t, fields{
		"plans[0].measurements[0].stages": list{
			fields{"name": "warm", "measure": false, "shape": "closed", "concurrency": 8, "duration": "30s"},
			fields{"shape": "open", "arrival": "poisson", "rate": 2, "duration": "2m0s"}, fields{"rate": 4}, fields{"rate": 8},
		},
		"plans[0].measurements[0].data": fields{
			"input":    fields{"shape": "normal", "mean": 900, "stdev": 200, "min": 64},
			"output":   fields{"shape": "fixed", "mean": 128},
			"prefixes": list{fields{"count": 8, "tokens": 2048}}, "turns": 3, "think": "1s",
		},
		"plans[0].slo": fields{"latency": fields{"ttft": fields{"p99": "500ms"}}, "errorRate": 0.01, "onBreach": "fail"},
	})
}
