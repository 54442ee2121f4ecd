package check

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/crd"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the schemas from the Tekton module")

// TestSchemasAreThoseOfTheModule compares the committed schemas with the CRDs of the Tekton version in go.mod.
func TestSchemasAreThoseOfTheModule(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tektoncd/pipeline").Output()
	if err != nil {
		t.Fatalf("finding the Tekton module: %v", err)
	}
	dir := strings.TrimSpace(string(out))
	for _, file := range kinds() {
		want := schemaOf(t, filepath.Join(dir, "config/300-crds/300-"+filepath.Base(file)))
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not the schema of the module; run go test ./pipelines/check -update", file)
		}
	}
}

// schemaOf returns the v1 schema of a CRD without descriptions, which are most of it.
func schemaOf(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var definition extv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &definition); err != nil {
		t.Fatal(err)
	}
	for _, v := range definition.Spec.Versions {
		if v.Name != "v1" {
			continue
		}
		tree, err := crd.Tree(v.Schema.OpenAPIV3Schema)
		if err != nil {
			t.Fatal(err)
		}
		dropDescriptions(tree)
		out, err := yaml.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		return append([]byte("# From "+filepath.Base(path)+
			" of Tekton Pipelines (Apache-2.0, see LICENSE), version v1, without descriptions.\n"), out...)
	}
	t.Fatalf("%s has no version v1", path)
	return nil
}

// dropDescriptions keeps a property that is called description: its value is a schema, not a text.
func dropDescriptions(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, text := v["description"].(string); text {
			delete(v, "description")
		}
		for _, child := range v {
			dropDescriptions(child)
		}
	case []any:
		for _, child := range v {
			dropDescriptions(child)
		}
	}
}
