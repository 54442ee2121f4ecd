package compile

import (
	"runtime"
	"testing"

	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/runplan"
)

// tenThousand is an experiment of 10 x 10 x 10 x 10 points of one shape.
const tenThousand = `
apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: plain}
spec: {platform: rhaiis, mode: raw-vllm, runtime: {image: "vllm/vllm-openai:v0.23.0"}}
---
apiVersion: bflow.dev/v1alpha1
kind: MetricsProfile
metadata: {name: detailed}
spec: {prometheus_url: "https://prom.example:9091", queries: {up: 'up{namespace="$namespace"}'}}
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: many-points}
spec:
  model: {name: acme/tiny-1b}
  deployment_profile: plain
  overrides: {scale: {replicas: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], tensor_parallelism: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}}
  load:
    data: {input: {mean: 900, stdev: 200, min: 64}, output: 128}
    stages: [{name: warm, measure: false, concurrency: 8, duration: 30s}, {rate: 4, arrival: poisson, duration: 2m}]
  matrix:
    axes:
      overrides.runtime.env.BLOCK: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
      load.stages[1].rate: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
`

// BenchmarkCompile10000 does what bflow compile does with a large matrix: loads the file, walks the matrix once to
// find problems, and again to compile every plan into a stream. It reports the size of the stream and the memory that
// the process got from the system for its heap, which never shrinks.
func BenchmarkCompile10000(b *testing.B) {
	var out counter
	for b.Loop() {
		out = counter{}
		if err := Write(&out, planned(b, tenThousand), Options{}); err != nil {
			b.Fatal(err)
		}
	}
	if out.runs != 10_000 {
		b.Fatalf("%d runs were written, want 10000", out.runs)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(out.bytes)/1e6, "MB-out")
	b.ReportMetric(float64(m.HeapSys)/1e6, "MB-heap")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/op")
}

// counter counts what is written to it.
type counter struct{ bytes, runs int }

func (c *counter) Write(document []byte) (int, error) {
	c.bytes += len(document)
	if isRun(document) {
		c.runs++
	}
	return len(document), nil
}

func isRun(document []byte) bool {
	const head = "---\napiVersion: tekton.dev/v1\nkind: PipelineRun\n"
	return len(document) > len(head) && string(document[:len(head)]) == head
}

// planned is the stream of plans of the only experiment in text.
func planned(tb testing.TB, text string) Plans {
	tb.Helper()
	set, problems := spec.LoadBytes(spec.Options{}, "experiment.yaml", []byte(text))
	if err := problems.Err(); err != nil {
		tb.Fatal(err)
	}
	m, problems := plan.Expand(set.Experiments[0], set.Catalogue, plan.Options{})
	if err := problems.Err(); err != nil {
		tb.Fatal(err)
	}
	if err := m.Check().Err(); err != nil {
		tb.Fatal(err)
	}
	return func(yield func(*runplan.RunPlan, error) bool) {
		for p, found := range m.Plans() {
			if !yield(p, found.Err()) {
				return
			}
		}
	}
}
