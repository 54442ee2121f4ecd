package spec

import (
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Whatever the bytes, loading ends without a panic; what loads can be written as YAML and loads again.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/examples/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, "testdata/own.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for kind, rows := range map[string][]row{
		KindExperiment: append(append(experimentRows(), ownRows()...), append(wrongExperimentRows(), wrongOwnRows()...)...),
		KindDeployment: append(deploymentRows(), wrongDeploymentRows()...),
		KindBenchmark:  append(benchmarkRows(), wrongBenchmarkRows()...),
		KindMetrics:    append(metricsRows(), wrongMetricsRows()...),
	} {
		for _, r := range rows {
			f.Add([]byte(makeDocument(kind, r.fragment)))
		}
	}
	shipped := shippedFS()
	f.Fuzz(func(t *testing.T, data []byte) {
		opt := Options{Shipped: shipped, CheckAll: true}
		set, found := LoadBytes(opt, "f.yaml", data)
		if found.Err() != nil {
			return
		}
		for _, e := range set.Experiments {
			text, err := yaml.Marshal(e.Root)
			if err != nil {
				t.Fatalf("writing what was loaded: %v", err)
			}
			if _, found := LoadBytes(Options{Shipped: shipped}, "again.yaml", text); found.Errors() != nil &&
				refersOnlyToShipped(e) {
				t.Fatalf("what loads must load again, got\n%s\nfor\n%s", found.Error(), text)
			}
		}
	})
}

// refersOnlyToShipped is false for experiments whose profiles are documents beside them.
func refersOnlyToShipped(e *Experiment) bool {
	for _, name := range append(append(e.Spec.DeploymentProfile, e.Spec.BenchmarkProfile...), e.Spec.MetricsProfile...) {
		if name != "plain" && name != "chat" && name != "detailed" {
			return false
		}
	}
	return true
}

func BenchmarkDecodeExperiment(b *testing.B) {
	set, found := Load(Options{}, "testdata/examples")
	if err := found.Err(); err != nil {
		b.Fatal(err)
	}
	e := set.Experiments[1]
	b.ReportAllocs()
	for b.Loop() {
		DecodeExperiment(&e.Doc, e.Root)
	}
}

func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Load(Options{}, "testdata/examples")
	}
}
