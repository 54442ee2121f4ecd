package external

import (
	"slices"
	"testing"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/registry"
	"bflow.dev/bflow/load/tool/tooltest"
	"bflow.dev/bflow/runplan"
)

// TestTheProcessOfAToolIsBuiltByItsPackage: a tool is a package and an entry of the list.
func TestTheProcessOfAToolIsBuiltByItsPackage(t *testing.T) {
	tools := append(registry.All(), tooltest.Stampede{})
	block := map[string]any{"rate": 5, "max-streams": 9}
	commands, err := build(tools, tool.Invocation{Measurement: &runplan.Measurement{Tool: "stampede", External: block},
		Program: "/venv/bin/stampede", Model: "m", Endpoint: "http://server", Dir: "/run"})
	if err != nil || len(commands) != 1 {
		t.Fatalf("%v, %v", commands, err)
	}
	want := []string{"/venv/bin/stampede", "--url", "http://server", "--model", "m", "--out", "/run/stampede.json",
		"--max-streams", "9", "--rate", "5"}
	if got := commands[0].Argv; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
