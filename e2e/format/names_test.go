package format

import (
	"regexp"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
)

// Names of section 6: what a point, its objects and its release are called.
func TestNames(t *testing.T) {
	for _, r := range []struct{ name, raw, base, label string }{
		{"a label stays", "tiny-docs", "tiny-docs", "tiny-docs"},
		{"case, slashes and dots go the old way", "Acme/Tiny-1.5B", "acme-tiny-15b", "acme-tiny-15b"},
		{"a legal label value keeps its case", "Tiny_1.5B", "tiny-1-5b", "Tiny_1.5B"},
		{"other characters become one dash", "a  b__c!", "a-b-c", "a-b-c"},
		{"nothing is left", "!!!", "x", "x"},
	} {
		t.Run(r.name, func(t *testing.T) {
			o := named(r.raw).resolve()
			if len(o.plans) != 2 {
				t.Fatal(o.problems)
			}
			tree := o.tree(t)
			for path, want := range map[string]any{
				"plans[1].name": r.base + "-m2", "PipelineRun.metadata.generateName": r.base + "-m1-",
				`PipelineRun.metadata.labels["bflow.dev/experiment"]`:      r.label,
				`PipelineRun.metadata.annotations["bflow.dev/experiment"]`: r.raw,
				`ConfigMap.metadata.annotations["bflow.dev/experiment"]`:   r.raw,
			} {
				for _, diff := range differs(path, want, look(t, tree, path)) {
					t.Error(diff)
				}
			}
		})
	}
}

func named(raw string) row {
	return row{File: strings.Replace(document("Experiment", "t", "overrides: {scale: {replicas: [1, 2]}}",
		"model: {name: a/b}", "deployment_profile: plain", "benchmark_profile: chat"),
		"name: t}", "name: '"+raw+"'}", 1)}
}

// Two points of a long name, and two submissions of one, never share a release, which leaves room for derived names.
func TestLongNamesNeverCollide(t *testing.T) {
	o := named(strings.Repeat("long-name-", 12)).resolve()
	if len(o.plans) != 2 {
		t.Fatal(o.problems)
	}
	seen := map[string]bool{}
	legal := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?-m[12]-[0-9a-f]{8}$`)
	for _, p := range o.plans {
		for _, run := range []string{"run-a", "run-b"} {
			release := runplan.Release(p, run)
			if seen[release] || len(release) > 35 || !legal.MatchString(release) {
				t.Errorf("release %q of %q is long, illegal or taken", release, p.Name)
			}
			seen[release] = true
		}
		if seen[p.Name] || len(p.Name) > 63 {
			t.Errorf("name %q is long or taken", p.Name)
		}
		seen[p.Name] = true
	}
}
