package compile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"bflow.dev/bflow/pipelines/check"
)

// TestExamplesOfTheFormatCompile takes the examples of the file format all the way: load, plan, compile, check.
func TestExamplesOfTheFormatCompile(t *testing.T) {
	const dir = "../spec/testdata/examples"
	profiles, err := os.ReadFile(filepath.Join(dir, "profiles.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	checker, err := check.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"single", "matrix", "existing-endpoint", "remote-target"} {
		t.Run(name, func(t *testing.T) {
			experiment, err := os.ReadFile(filepath.Join(dir, name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := Write(&out, planned(t, string(profiles)+"\n---\n"+string(experiment)), Options{}); err != nil {
				t.Fatal(err)
			}
			if err := checker.Stream(&out); err != nil {
				t.Error(err)
			}
		})
	}
}
