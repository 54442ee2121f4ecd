package plan

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
)

var update = flag.Bool("update", false, "rewrite the output files in testdata")

// TestGolden plans every testdata/*.input.yaml, with the profiles of testdata/profiles, and compares with
// *.output.json (the plans) or *.error.txt (the problems).
func TestGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.input.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, input := range inputs {
		base := strings.TrimSuffix(input, ".input.yaml")
		t.Run(filepath.Base(base), func(t *testing.T) {
			data, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			plans, problems := planFile(t, filepath.Base(input), data, Options{})
			output, errors := marshalled(t, plans), problemText(problems)
			golden(t, base+".output.json", output)
			golden(t, base+".error.txt", errors)
		})
	}
}

// planFile loads one stream of documents and plans every experiment in it.
func planFile(t *testing.T, name string, data []byte, opt Options) ([]*runplan.RunPlan, problem.List) {
	t.Helper()
	set, problems := spec.LoadBytes(spec.Options{ProfileDirs: []string{"testdata/profiles"}}, name, data)
	if problems.Err() != nil {
		return nil, problems
	}
	var plans []*runplan.RunPlan
	for _, exp := range set.Experiments {
		more, found := Plan(exp, set.Catalogue, opt)
		plans = append(plans, more...)
		problems = append(problems, found...)
	}
	return plans, problems
}

func marshalled(t *testing.T, plans []*runplan.RunPlan) []byte {
	t.Helper()
	if len(plans) == 0 {
		return nil
	}
	for _, p := range plans {
		if err := runplan.Verify(p); err != nil {
			t.Error(err)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(plans); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func problemText(problems problem.List) []byte {
	if len(problems) == 0 {
		return nil
	}
	return []byte(problems.Error() + "\n")
}

// golden compares got with a file; nothing got means that there is no such file.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if got == nil {
			os.Remove(file)
			return
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (run with -update to rewrite):\n%s", file, diff)
	}
}
