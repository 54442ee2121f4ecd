package tool

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

// A path leads to what stands there, or to the nearest above it, and says where it should be.
func TestAPlaceBelowABlockIsFound(t *testing.T) {
	var doc yaml.Node
	text := "api: {headers: {a.b: x}}\nstages:\n- rate: 1\n- rate: 22\ndata:\n"
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	block := Value{findings: &findings{}}.At(doc.Content[0], "spec.load")
	for _, row := range []struct {
		path string
		line int
	}{
		{`api.headers["a.b"]`, 1}, {"stages[1].rate", 4}, {"stages[1].name", 4}, {"stages[5].rate", 3}, {"data.input", 1},
	} {
		got := block.Below(row.path)
		if got.Node.Line != row.line || got.Path != "spec.load."+row.path {
			t.Errorf("%s: found in line %d as %s, want line %d", row.path, got.Node.Line, got.Path, row.line)
		}
	}
}
