package format

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/spec"
)

// A resolved plan is a document of the format too: what was planned can be written down, read and compiled again.
func TestAPlanIsADocument(t *testing.T) {
	first := row{}.resolve()
	written, err := yaml.Marshal(first.plans[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct{ name, from, to, errors string }{
		{name: "as it was written"},
		{name: "in the spelling of the original", from: "apiVersion:", to: "api_version:"},
		{name: "of another version", from: "v1alpha1", to: "v2", errors: `plan.yaml:1:13: apiVersion: want ` +
			`"benchflow.io/v1alpha1" or "bflow.dev/v1alpha1", found "benchflow.io/v2"`},
		{name: "with an unknown key", from: "experiment: t", to: "experimnt: t",
			errors: `plan.yaml:1:1: reading RunPlan: json: unknown field "experimnt"`},
	} {
		t.Run(r.name, func(t *testing.T) {
			o := resolve(spec.Options{}, plan.Options{}, "plan.yaml", []byte(strings.Replace(string(written), r.from, r.to, 1)))
			if r.errors != "" {
				if got := text(o.problems); !strings.HasPrefix(got, r.errors) {
					t.Errorf("want %s, got %s", r.errors, got)
				}
				return
			}
			same(t, "errors", "", o.problems)
			if len(o.plans) != 1 || o.compiled(t).String() != first.compiled(t).String() {
				t.Errorf("it compiles to something else")
			}
		})
	}
}

func TestAPlanThatWasChangedByHandIsRefused(t *testing.T) {
	written, err := yaml.Marshal(row{}.resolve().plans[0])
	if err != nil {
		t.Fatal(err)
	}
	o := resolve(spec.Options{}, plan.Options{}, "plan.yaml",
		[]byte(strings.Replace(string(written), "replicas: 1", "replicas: 2", 1)))
	if got := text(o.problems); !strings.Contains(got, ": digest: verifying plan \"t\": digest") ||
		!strings.HasPrefix(got, "plan.yaml:") {
		t.Errorf("got %q", got)
	}
}
