package spec

import (
	"strings"
	"testing"
	"testing/fstest"

	"bflow.dev/bflow/internal/problem"
)

// makeDocument puts a fragment, indented by two, right below "spec:" (line 5) and adds what the kind requires.
func makeDocument(kind, fragment string) string {
	needs := map[string][]string{
		KindExperiment: {"model: {name: acme/tiny-1b}", "deployment_profile: plain", "benchmark_profile: chat"},
		KindDeployment: {"platform: rhaiis", "mode: raw-vllm"},
		KindBenchmark: {
			"guidellm: {profile: {kind: concurrent, streams: [4]}, constraint: [{kind: max_requests, count: 10}]}"},
		KindMetrics: {"prometheus_url: https://prom.example:9091"},
	}[kind]
	lines := strings.Split(strings.TrimRight(fragment, "\n"), "\n")
	own := map[string]bool{}
	for _, line := range lines {
		key, _, _ := strings.Cut(line, ":")
		own[key] = true
	}
	for _, line := range needs {
		if key, _, _ := strings.Cut(line, ":"); !own[key] && !own["-"+key] {
			lines = append(lines, line)
		}
	}
	doc := "apiVersion: benchflow.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: t}\nspec:\n"
	for _, line := range lines {
		if !strings.HasPrefix(line, "-") { // "-key:" takes a required key away
			doc += "  " + line + "\n"
		}
	}
	return doc
}

// shippedFS is a small catalogue that the rows refer to.
func shippedFS() fstest.MapFS {
	text := makeDocument(KindDeployment, "runtime: {image: acme/vllm:1}") + "---\n" +
		makeDocument(KindBenchmark, "tool: guidellm")
	text = strings.Replace(strings.Replace(text, "{name: t}", "{name: plain}", 1), "{name: t}", "{name: chat}", 1)
	metrics := strings.Replace(makeDocument(KindMetrics, "verify_tls: no"), "{name: t}", "{name: detailed}", 1)
	return fstest.MapFS{"all.yaml": {Data: []byte(text)}, "deep/er/metrics.yaml": {Data: []byte(metrics)}}
}

// loadRow loads one document of a row, beside the small catalogue.
func loadRow(kind, fragment string) (*Set, problem.List) {
	return LoadBytes(Options{Shipped: shippedFS(), CheckAll: true}, "t.yaml", []byte(makeDocument(kind, fragment)))
}

// row is a fragment of a spec; want is what is wrong with it, "" for nothing.
type row struct {
	name, fragment, want string
}

func runRows(t *testing.T, kind string, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, found := loadRow(kind, r.fragment)
			if got := found.Error(); got != r.want {
				t.Errorf("document:\n%s\ngot  %s\nwant %s", makeDocument(kind, r.fragment), got, r.want)
			}
		})
	}
}
