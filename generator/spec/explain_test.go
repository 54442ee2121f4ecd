package spec

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/runplan/contract"
)

func TestExplain(t *testing.T) {
	for _, row := range []struct {
		name, path string
		want       Explanation
	}{
		{"a list of objects", "experiment.spec.load.stages.rate",
			Explanation{Type: "number or list of number", Unit: "requests/s", Range: "above 0",
				Meaning: "open loop: requests per second, independent of the server's speed"}},
		{"a default that the loader fills in", "experiment.spec.execution.timeout",
			Explanation{Type: "duration", Default: "3h", Unit: "duration: h, m, s, ms", Meaning: "timeout of the whole run"}},
		{"a default that is resolved later", "Experiment.spec.namespace",
			Explanation{Type: "text", Default: "benchflow", Range: "at most 63 lower-case letters, digits and inner -",
				Meaning: "namespace of all objects; overrides the profile's"}},
		{"the account of the pods of a run", "experiment.spec.service_account",
			Explanation{Type: "text", Default: contract.AccountRunner, Range: "a name of lower-case letters, digits, - and .",
				Meaning: "service account of the pipeline pods, not of the model pods; on a cluster it must be labelled for runs"}},
		{"an axis", "experiment.spec.overrides.scale.replicas",
			Explanation{Type: "integer or list of integer", Range: "at least 1", Axis: true, Meaning: "number of model pods"}},
		{"an alias and an enum", "deploymentprofile.spec.runtime.pvc_mounts[0].access_mode",
			Explanation{Type: "text or list of text", Aliases: []string{"access_mode"},
				Values:  []string{"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"},
				Meaning: "access modes of a created claim"}},
		{"a key of a map", "experiment.spec.overrides.runtime.env.SEED",
			Explanation{Type: "text or secretKeyRef",
				Meaning: "environment variables, merged by name; an empty value removes the variable"}},
		{"overrides of a model", "experiment.spec.model_overrides.x.rhoai.enable_auth",
			Explanation{Type: "boolean", Meaning: "sets options.enable_auth"}},
		{"a Kubernetes type", "deploymentprofile.spec.runtime.tolerations.operator",
			Explanation{Type: "text", Values: []string{"Exists", "Equal", "Lt", "Gt"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := Explain(row.path)
			if err != nil {
				t.Fatal(err)
			}
			row.want.Path = row.path
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestExplainListsTheFieldsBelow(t *testing.T) {
	e, err := Explain("experiment.spec.load.stages")
	first := FieldBrief{Name: "name", Type: "text", Meaning: "name of the stage in reports"}
	if err != nil || len(e.Fields) < 10 || e.Fields[0] != first {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestExplainingAnUnknownFieldGivesAHint(t *testing.T) {
	for path, want := range map[string]string{
		"experiment.spec.lod": `explaining "experiment.spec.lod": experiment.spec.lod: unknown field "lod" (did ` +
			`you mean "load"?)`,
		"experimnt.spec": `explaining "experimnt.spec": unknown kind "experimnt", want one of experiment, ` +
			`deploymentprofile, benchmarkprofile, metricsprofile, reportmetrics`,
		"experiment.spec.queue.a.b": `explaining "experiment.spec.queue.a.b": experiment.spec.queue.a: unknown field "a"`,
		"":                          `reading path "": want a dotted path such as load.stages[0].rate`,
	} {
		if _, err := Explain(path); err == nil || err.Error() != want {
			t.Errorf("%s: got %v\nwant %s", path, err, want)
		}
	}
}

// Every field of ours says what it means, and every rule that a tag names exists.
func TestEveryFieldIsDocumented(t *testing.T) {
	c := newCodec(nil)
	for typ, tab := range c.tables {
		if kubernetes(typ) {
			continue
		}
		for _, f := range tab.fields {
			if f.doc == "" {
				t.Errorf("%s.%s has no doc tag", typ.Name(), f.name)
			}
			for _, rule := range []string{f.is, f.keys} {
				if _, ok := c.rules[rule]; !ok && rule != "" {
					t.Errorf("%s.%s names the unknown rule %q", typ.Name(), f.name, rule)
				}
			}
			if f.keys != "" && bare(f.typ).Kind() != reflect.Map {
				t.Errorf("%s.%s has a rule for keys, but is no map", typ.Name(), f.name)
			}
		}
	}
}
