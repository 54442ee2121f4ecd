package commandline

import (
	"testing"

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
