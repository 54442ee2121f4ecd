package commandline

import (
	"testing"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/registry"
	"bflow.dev/bflow/load/tool/tooltest"
	"bflow.dev/bflow/runplan"
)

// TestTheCommandLineOfAToolIsReadByItsPackage: a tool is a package and an entry of the list.
func TestTheCommandLineOfAToolIsReadByItsPackage(t *testing.T) {
	args := []string{"stampede", "--url", "localhost:8000", "--rate", "5", "--seconds", "3", "--tokens", "64"}
	none := func() []string { return nil }
	tools := append(registry.All(), tooltest.Stampede{})
	if !IsOfTool(tools, args, none) || IsOfTool(registry.All(), args, none) {
		t.Error("the tool is not known where it is listed, or it is where it is not")
	}
	got, findings, err := Parse(tools, args, Options{Env: none})
	if err != nil || len(findings) > 0 || got.Endpoint != "http://localhost:8000" || len(got.Measure.Stages) != 1 {
		t.Fatalf("%+v, %v, %v", got, findings, err)
	}
	if s := got.Measure.Stages[0]; s.Shape != runplan.ShapeOpen || s.Rate != 5 || s.Name != "rate-5" {
		t.Errorf("stage %+v", s)
	}
	_, findings, err = Parse(tools, append(args, "--chaos", "1"), Options{Env: none})
	want := "--chaos: \"chaos\" is known to the real tool only: beyond load-gen; remove it, or run stampede itself"
	if err == nil || len(findings) != 1 {
		t.Fatalf("%v, %v", findings, err)
	}
	if got := findings[0].Error(); got != want {
		t.Errorf("got %q", got)
	}
}

// named is the tool with a subcommand, and with a variable that stands for a command line.
type named struct{ tooltest.Stampede }

func (named) Definition() tool.Definition {
	d := tooltest.Stampede{}.Definition()
	d.Subcommands, d.Variables = []string{"run"}, []string{"STAMPEDE_URL="}
	return d
}

func (n named) Parse(c *tool.CommandLine, args []string) {
	n.Stampede.Parse(c, append(args, "--url", c.Env["STAMPEDE_URL"], "--rate", "5", "--seconds", "3"))
}

func TestAVariableNamesItsTool(t *testing.T) {
	env := func() []string { return []string{"STAMPEDE_URL=http://server", "GUIDELLM_RATE=3"} }
	got, findings, err := Parse(append(registry.All(), named{}), nil, Options{Env: env})
	if err != nil || got.Tool != "stampede" || got.Endpoint != "http://server" {
		t.Errorf("%s at %q, %v, %v", got.Tool, got.Endpoint, findings, err)
	}
	_, _, err = Parse(registry.All(), nil, Options{Env: env})
	want := "no tool is named: want guidellm, aiperf, inference-perf, vllm or inferencemax"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}
