package guidellm

import (
	"strings"
	"testing"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/tree"
)

// TestEachShippedScenarioIsRead under its own name and that of its collection, and says its own name where it says one.
func TestEachShippedScenarioIsRead(t *testing.T) {
	files, err := scenarios.ReadDir("scenarios")
	if err != nil || len(files) != 9 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file.Name(), ".yaml")
		for _, asked := range []string{name, "rhaiis/" + name} {
			c := tool.NewCommandLine(tool.Definition{}, nil, nil, false)
			n := findBuiltin(c, asked)
			if n == nil {
				t.Errorf("%s: no scenario", asked)
				continue
			}
			if own := tree.TextAt(n, "metadata", "name"); own != "" && own != name {
				t.Errorf("%s calls itself %q", asked, own)
			}
			if got, want := c.Word(n.Line), "scenario "+asked; got != want {
				t.Errorf("a problem of %s comes from %q, want %q", asked, got, want)
			}
		}
	}
	if n := findBuiltin(tool.NewCommandLine(tool.Definition{}, nil, nil, false), "../builtin"); n != nil {
		t.Error("a file outside of the folder is a scenario")
	}
}
