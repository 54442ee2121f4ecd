package spec

import "testing"

func TestRunPlansAreReadInBothSpellings(t *testing.T) {
	const body = "kind: RunPlan\nname: p\nexperiment: e\nindex: 3\ntimeouts: {pipeline: 1h0m0s}\n"
	for _, row := range []struct{ name, text, want string }{
		{"as we write it", "apiVersion: benchflow.io/v1alpha1\n" + body, ""},
		{"as the original wrote it", "api_version: benchflow.io/v1alpha1\n" + body, ""},
		{"another version", "apiVersion: benchflow.io/v2\n" + body,
			`p.yaml:1:13: apiVersion: want "benchflow.io/v1alpha1" or "bflow.dev/v1alpha1", found "benchflow.io/v2"`},
		{"an unknown field", "apiVersion: benchflow.io/v1alpha1\nzebra: 1\n" + body,
			`p.yaml:1:1: reading RunPlan: json: unknown field "zebra"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			set, found := LoadBytes(Options{}, "p.yaml", []byte(row.text))
			if found.Error() != row.want {
				t.Fatalf("got %s, want %s", found.Error(), row.want)
			}
			if p := set.RunPlans[0].Plan; row.want == "" && (p.Index != 3 || p.APIVersion != APIVersion) {
				t.Errorf("got %+v", p)
			}
		})
	}
}
