package pipelines

import (
	"strings"
	"testing"
)

const twoDocuments = `# a comment alone is no document
---
apiVersion: v1
kind: ConfigMap
metadata: {name: plan}
---
---
{"apiVersion": "tekton.dev/v1", "kind": "Task", "metadata": {"name": "t"}, "spec": {"steps": [{"name": "s", "image": "i"}]}}
`

func TestParseSortsDocumentsByKind(t *testing.T) {
	b, err := Parse(strings.NewReader(twoDocuments))
	if err != nil {
		t.Fatal(err)
	}
	if len(b.ConfigMaps) != 1 || len(b.Tasks) != 1 || b.Tasks[0].Spec.Steps[0].Image != "i" {
		t.Errorf("got %+v", b)
	}
}

func TestParseIsStrict(t *testing.T) {
	for _, row := range []struct{ name, in, want string }{
		{"an unknown field", "apiVersion: tekton.dev/v1\nkind: Task\nspec: {stps: []}\n",
			`reading document 1: error unmarshaling JSON: while decoding JSON: json: unknown field "stps"`},
		{"a key given twice", "apiVersion: v1\nkind: ConfigMap\nkind: ConfigMap\n", `key "kind" already set in map`},
		{"another kind", "---\n---\napiVersion: v1\nkind: Secret\n", `apiVersion "v1", kind "Secret" is not read here`},
		{"an old version", "apiVersion: tekton.dev/v1beta1\nkind: Task\n",
			`apiVersion "tekton.dev/v1beta1", kind "Task" is not read here`},
		{"no kind", "a: b\n", "reading document 1: no apiVersion and kind"},
		{"a list", "- a\n", "reading document 1: "},
		{"no YAML", "\t{", "reading document 1: "},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := Parse(strings.NewReader(row.in)); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want an error with %q", err, row.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(twoDocuments)
	f.Add("apiVersion: tekton.dev/v1\nkind: PipelineRun\nspec: {params: [{name: a, value: [b]}]}\n")
	f.Add("--- \n%YAML 1.1\n---\n&a [*a]\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = Parse(strings.NewReader(text)) // must not panic
	})
}
