package spec

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "rewrite expected output")

// compile returns the generated schema, ready to validate.
func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("experiment.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("experiment.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// judge validates every document of a YAML stream.
func judge(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	roots, found := parse("t.yaml", text)
	if err := found.Err(); err != nil {
		return err
	}
	for _, root := range roots {
		var value any
		if err := root.Decode(&value); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(value); err != nil {
			return err
		}
	}
	return nil
}

func TestSchemaAcceptsTheExamples(t *testing.T) {
	s := compile(t)
	files, err := filepath.Glob("testdata/examples/*.yaml")
	if err != nil || len(files) != 5 {
		t.Fatalf("want 5 files, got %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := judge(t, s, text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// Schema and loader agree on every row, except for the mistakes listed in testdata/beyond_schema.txt: rules between
// fields, and text that only the loader can judge.
func TestSchemaAgreesWithTheLoader(t *testing.T) {
	s := compile(t)
	beyond := ""
	for _, corpus := range []struct {
		kind string
		rows [][]row
	}{
		{KindExperiment, [][]row{experimentRows(), ownRows(), wrongExperimentRows(), wrongOwnRows()}},
		{KindDeployment, [][]row{deploymentRows(), wrongDeploymentRows()}},
		{KindBenchmark, [][]row{benchmarkRows(), wrongBenchmarkRows()}},
		{KindMetrics, [][]row{metricsRows(), wrongMetricsRows()}},
	} {
		for _, rows := range corpus.rows {
			for _, r := range rows {
				_, found := loadRow(corpus.kind, r.fragment)
				err := judge(t, s, []byte(makeDocument(corpus.kind, r.fragment)))
				switch {
				case found.Err() == nil && err != nil:
					t.Errorf("%s: it loads, but the schema refuses it:\n%v\n%s", r.name, err, r.fragment)
				case found.Err() != nil && err == nil:
					beyond += corpus.kind + ": " + r.name + "\n"
				}
			}
		}
	}
	golden(t, "testdata/beyond_schema.txt", beyond)
}

// golden compares text with a file; go test -update rewrites the file.
func golden(t *testing.T, name, text string) {
	t.Helper()
	if *update {
		write(t, name, text)
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got)\n%s", name, diff)
	}
}

func TestSchemaDescribesEveryField(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Description string `yaml:"description"`
			} `yaml:"properties"`
		} `yaml:"$defs"`
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ExperimentSpec", "RuntimeOverrides", "DeploymentSpec", "Runtime", "NativeStage", "Sim",
		"SLO", "Matrix"} {
		if len(doc.Defs[name].Properties) == 0 {
			t.Errorf("want a definition of %s", name)
		}
		for field, p := range doc.Defs[name].Properties {
			if p.Description == "" {
				t.Errorf("%s.%s has no description", name, field)
			}
		}
	}
}
