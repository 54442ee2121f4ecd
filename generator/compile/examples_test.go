package compile

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"bflow.dev/bflow/pipelines/check"
	"bflow.dev/bflow/runplan"
)

// TestEveryPlanThatThePlannerIsKnownToMakeCompiles takes the golden plans of package plan: all platforms, shared
// deployments, endpoints, remote targets.
func TestEveryPlanThatThePlannerIsKnownToMakeCompiles(t *testing.T) {
	files, err := filepath.Glob("../plan/testdata/*.output.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden plans: %v", err)
	}
	checker, err := check.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var out bytes.Buffer
			if err := Write(&out, planFile(t, file), Options{}); err != nil {
				t.Fatal(err)
			}
			if err := checker.Stream(&out); err != nil {
				t.Error(err)
			}
		})
	}
}

// planFile streams the plans of a JSON array.
func planFile(t *testing.T, file string) Plans {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var documents []json.RawMessage
	if err := json.Unmarshal(text, &documents); err != nil {
		t.Fatal(err)
	}
	return func(yield func(*runplan.RunPlan, error) bool) {
		for _, document := range documents {
			if !yield(runplan.Decode(document)) {
				return
			}
		}
	}
}
