package sim

import (
	"os"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
)

func TestTheReadmeListsEveryFault(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range runplan.FaultKinds() {
		if !strings.Contains(string(text), "`"+kind+"`") && !strings.Contains(string(text), "`"+kind+"=") {
			t.Errorf("fault %q is not in README.md", kind)
		}
	}
}
