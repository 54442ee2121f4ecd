package load_test

import (
	"testing"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load/tool"
)

// BenchmarkTranslate is one point of a matrix: ten thousand of them are planned in two seconds.
func BenchmarkTranslate(b *testing.B) {
	var r row
	text := "block: {profile: {kind: concurrent, streams: [4, 16]}, data: {prompt_tokens: 300, output_tokens: 100, " +
		"prefix_buckets: " +
		"[{prefix_tokens: 1500, prefix_count: 2*concurrency}]}, constraint: [{kind: max_requests, count: " +
		"20*concurrency}, {kind: max_duration, seconds: 120}]}"
	if err := yaml.Unmarshal([]byte(text), &r); err != nil {
		b.Fatal(err)
	}
	src := r.source("bench.yaml")
	for b.Loop() {
		if _, problems := tool.Translate(src); problems.Err() != nil {
			b.Fatal(problems.Err())
		}
	}
}
