package plan

import (
	"os"
	"path/filepath"
	"testing"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/runplan"
)

// FuzzPlan plans whatever loads: it must not panic, and every plan must verify.
func FuzzPlan(f *testing.F) {
	inputs, err := filepath.Glob("testdata/*.input.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, input := range inputs {
		data, err := os.ReadFile(input)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set, problems := spec.LoadBytes(spec.Options{ProfileDirs: []string{"testdata/profiles"}}, "fuzz.yaml", data)
		if problems.Err() != nil {
			return
		}
		for _, exp := range set.Experiments {
			plans, problems := Plan(exp, set.Catalogue, Options{MaxPoints: 50})
			if (plans == nil) == (problems.Err() == nil) {
				t.Errorf("%d plans, problems: %v", len(plans), problems.Err())
			}
			for _, p := range plans {
				if err := runplan.Verify(p); err != nil {
					t.Error(err)
				}
			}
		}
	})
}
