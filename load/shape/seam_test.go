package shape

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAShapeIsOneFile adds the shape of docs/extend.md to this package, which is testdata/burst.go and two lines, and
// runs the test of that shape, which takes it from an experiment file to the report.
func TestAShapeIsOneFile(t *testing.T) {
	source, err := os.ReadFile("registry.go")
	if err != nil {
		t.Fatal(err)
	}
	registry := filepath.Join(t.TempDir(), "registry.go")
	text := addLine(t, string(source), "\t\tthroughput,\n", "\t\tburst,\n")
	text = addLine(t, text, "\tSynchronousField\n", "\tBurstField\n")
	if err := os.WriteFile(registry, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{filepath.Join(here, "registry.go"): registry}
	for _, name := range []string{"burst.go", "burst_test.go"} {
		files[filepath.Join(here, name)] = filepath.Join(here, "testdata", name)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(name, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "test", "-vet=off", "-overlay", name, "-run", "^TestABurst", "-v", ".").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestABurstGoesFromTheFileToTheReport") {
		t.Errorf("the tests of the new shape: %v\n%s", err, out)
	}
}

// addLine returns text with a line behind another one.
func addLine(t *testing.T, text, after, line string) string {
	t.Helper()
	before, rest, found := strings.Cut(text, after)
	if !found {
		t.Fatalf("registry.go has no line %q any more", after)
	}
	return before + after + line + rest
}
