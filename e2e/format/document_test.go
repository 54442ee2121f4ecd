package format

import (
	"strings"
	"testing/fstest"
)

// Names that positions in the rows speak of. A spec starts in line 5, its keys in column 3.
const (
	experimentFile = "t.yaml"
	deploymentFile = "deployment.yaml"
	benchmarkFile  = "benchmark.yaml"
	metricsFile    = "metrics.yaml"
)

// document is a file of one document: the keys of fragment first, then those of needs that fragment neither has nor
// takes away.
func document(kind, name, fragment string, needs ...string) string {
	var lines []string
	own := map[string]bool{}
	for line := range strings.Lines(fragment) {
		key, _, _ := strings.Cut(line, ":")
		own[strings.TrimPrefix(key, "-")] = true
		if !strings.HasPrefix(line, "-") {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	for _, line := range needs {
		if key, _, _ := strings.Cut(line, ":"); !own[key] {
			lines = append(lines, line)
		}
	}
	doc := "apiVersion: benchflow.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec:\n"
	for _, line := range lines {
		doc += "  " + line + "\n"
	}
	return doc
}

func (r row) experiment() string {
	if r.File != "" {
		return r.File
	}
	return document("Experiment", "t", r.Experiment, "model: {name: acme/tiny-1b}", "deployment_profile: plain",
		"benchmark_profile: chat")
}

func deploymentProfile(name, fragment string) []byte {
	return []byte(document("DeploymentProfile", name, fragment, "platform: rhaiis", "mode: raw-vllm",
		`runtime: {image: "vllm/vllm-openai:v0.23.0"}`))
}

// catalogue is what the experiment of a row may refer to.
func (r row) catalogue() fstest.MapFS {
	files := fstest.MapFS{
		deploymentFile: {Data: deploymentProfile("plain", r.Deployment)},
		benchmarkFile: {Data: []byte(document("BenchmarkProfile", "chat", r.Benchmark,
			"guidellm: {profile: {kind: concurrent, streams: [4]}, data: {prompt_tokens: 100, output_tokens: 20}, "+
				"constraint: [{kind: max_duration, seconds: 60}]}"))},
		metricsFile: {Data: []byte(
			document("MetricsProfile", "detailed", r.Metrics, "prometheus_url: https://prom.example:9091"))},
	}
	for name, fragment := range r.Profiles {
		files[name+".yaml"] = &fstest.MapFile{Data: deploymentProfile(name, fragment)}
	}
	return files
}
