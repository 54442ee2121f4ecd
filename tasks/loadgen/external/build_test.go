package external

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

var update = flag.Bool("update", false, "rewrite the expected commands")

// TestBuild turns each testdata/<case>.input.yaml into <case>.output.yaml.
func TestBuild(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.input.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("%d cases, %v", len(inputs), err)
	}
	for _, path := range inputs {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".input.yaml"), func(t *testing.T) { golden(t, path) })
	}
}

type input struct {
	Tool, Key string
	Block     any
}

// shown is a command as the expected files spell it; an error alone where there is one.
type shown struct {
	Argv   []string          `yaml:",omitempty"`
	Env    []string          `yaml:",omitempty"`
	Files  map[string]string `yaml:",omitempty"`
	Secret []string          `yaml:",omitempty"`
	Fetch  *tool.Fetch       `yaml:",omitempty"`
	WarmUp bool              `yaml:",omitempty"`
	Error  string            `yaml:",omitempty"`
}

func golden(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	var got strings.Builder
	enc := yaml.NewEncoder(&got)
	for {
		var in input
		if dec.Decode(&in) != nil {
			break
		}
		if err := enc.Encode(show(t, in)); err != nil {
			t.Fatal(err)
		}
	}
	name := strings.Replace(path, ".input.", ".output.", 1)
	if *update {
		if err := os.WriteFile(name, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("run with -update if this is right:\n%s", diff)
	}
}

func show(t *testing.T, in input) []shown {
	p := tool.Invocation{Measurement: &runplan.Measurement{Tool: in.Tool, External: in.Block,
		API: runplan.API{VerifyTLS: true}},
		Model: "acme/tiny-1b", Endpoint: "http://server:8000", Program: "/venv/bin/" + in.Tool, Dir: "/run/tool", Key: in.Key}
	commands, err := Build(p)
	if err != nil {
		return []shown{{Error: err.Error()}}
	}
	var out []shown
	for _, c := range commands {
		s := shown{Argv: c.Argv, Env: c.Env, Fetch: c.Fetch, WarmUp: c.WarmUp, Files: map[string]string{}}
		for _, f := range c.Files {
			s.Files[f.Name] = string(f.Data)
			if f.Secret {
				s.Secret = append(s.Secret, f.Name)
			}
		}
		if in.Key != "" && strings.Contains(strings.Join(c.Argv, " "), in.Key) {
			t.Errorf("the API key is in the arguments: %q", c.Argv)
		}
		out = append(out, s)
	}
	return out
}
