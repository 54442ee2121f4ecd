package plan

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/generator/spec"
)

// manyPoints is an experiment of 10 x 10 x 10 x last points: two built-in axes, one free axis of the deployment, one of
// the load.
func manyPoints(tb testing.TB, last int) (*spec.Experiment, *spec.Catalogue) {
	tb.Helper()
	numbers := func(n int) string {
		words := make([]string, n)
		for i := range words {
			words[i] = fmt.Sprint(i + 1)
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	data := fmt.Sprintf(`
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: many-points}
spec:
  model: {name: acme/tiny-1b}
  deployment_profile: plain-vllm
  overrides: {scale: {replicas: %s, tensor_parallelism: %s}}
  load:
    data: {input: {mean: 900, stdev: 200, min: 64}, output: 128}
    stages: [{name: warm, measure: false, concurrency: 8, duration: 30s}, {rate: 4, arrival: poisson, duration: 2m}]
  matrix:
    axes: {overrides.runtime.env.BLOCK: %s, "load.stages[1].rate": %s}
`, numbers(10), numbers(10), numbers(10), numbers(last))
	set, problems := spec.LoadBytes(spec.Options{ProfileDirs: []string{"testdata/profiles"}}, "many.yaml", []byte(data))
	if err := problems.Err(); err != nil {
		tb.Fatal(err)
	}
	return set.Experiments[0], set.Catalogue
}

// BenchmarkPlan10000 plans 10,000 points as a stream and reports the largest heap seen on the way.
func BenchmarkPlan10000(b *testing.B) {
	exp, cat := manyPoints(b, 10)
	b.ReportAllocs()
	var peak uint64
	points := 0
	for b.Loop() {
		m, problems := Expand(exp, cat, Options{})
		if err := problems.Err(); err != nil {
			b.Fatal(err)
		}
		for plan, problems := range m.Plans() {
			if plan == nil {
				b.Fatal(problems)
			}
			if points++; points%500 == 0 {
				peak = max(peak, heap())
			}
		}
	}
	b.ReportMetric(float64(points)/b.Elapsed().Seconds(), "points/s")
	b.ReportMetric(float64(peak)/1e6, "MB-peak-heap")
}

// BenchmarkPlanDeepAxes plans 10,000 points whose axes all lie in one block, which is the most there is to decode.
func BenchmarkPlanDeepAxes(b *testing.B) {
	exp, cat := manyPoints(b, 1)
	list := make([]*yaml.Node, 100)
	for i := range list {
		list[i] = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: fmt.Sprint(i), Line: 1}
	}
	exp.Spec.Matrix.Axes = []spec.AxisDecl{
		{Path: "overrides.runtime.env.A", Key: list[0], Values: list},
		{Path: "overrides.runtime.env.B", Key: list[0], Values: list},
	}
	exp.Spec.Overrides.Scale = spec.ScaleOverrides{}
	points := 0
	for b.Loop() {
		m, problems := Expand(exp, cat, Options{})
		if err := problems.Err(); err != nil {
			b.Fatal(err)
		}
		for range m.Plans() {
			points++
		}
	}
	b.ReportMetric(float64(points)/b.Elapsed().Seconds(), "points/s")
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
