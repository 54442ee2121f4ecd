package format

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"go.yaml.in/yaml/v3"
)

// row is a sentence about files, the fragment it speaks of, and what must come of it.
type row struct {
	Name string `yaml:"name"`

	// Fragments of a spec: top-level keys with their values. "-key:" takes a key away that would be there otherwise.
	Experiment string            `yaml:"experiment"`
	Deployment string            `yaml:"deployment"` // of DeploymentProfile "plain"
	Benchmark  string            `yaml:"benchmark"`  // of BenchmarkProfile "chat"
	Metrics    string            `yaml:"metrics"`    // of MetricsProfile "detailed"
	Profiles   map[string]string `yaml:"profiles"`   // further DeploymentProfiles by name
	File       string            `yaml:"file"`       // a whole file instead of the experiment's fragment
	Set        []string          `yaml:"set"`        // --set path=value
	Lenient    bool              `yaml:"lenient"`    // --lenient
	MaxPoints  int               `yaml:"max_points"` // --max-points

	Plans    int            `yaml:"plans"` // how many; 0 = one
	Want     map[string]any `yaml:"want"`  // path -> value; see look
	Warnings string         `yaml:"warnings"`
	Errors   string         `yaml:"errors"`
}

// readRows reads the lists of rows in file, which must hold no key that row does not know.
func readRows(t *testing.T, file string) []row {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	var all []row
	for {
		var rows []row
		err := dec.Decode(&rows)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("reading %s: %v", file, err)
		}
		all = append(all, rows...)
	}
}
