package spec

import (
	"strings"
	"testing"

	"bflow.dev/bflow/load/tool/registry"
	"bflow.dev/bflow/load/tool/tooltest"
)

// TestAProfileHoldsTheBlockOfAnyTool: a tool is a package and an entry of the list.
func TestAProfileHoldsTheBlockOfAnyTool(t *testing.T) {
	codec := newCodecOf(nil, append(registry.All(), tooltest.Stampede{}))
	read := func(text string) (*BenchmarkProfile, string) {
		roots,
			found := parse("p.yaml",
			[]byte("apiVersion: bflow.dev/v1alpha1\nkind: BenchmarkProfile\nmetadata: {name: p}\nspec: "+text+"\n"))
		if found.Err() != nil {
			t.Fatal(found.Err())
		}
		p, found := DecodeBenchmark(&Doc{File: "p.yaml", Root: roots[0], codec: codec}, roots[0])
		if err := found.Err(); err != nil {
			return p, err.Error()
		}
		return p, ""
	}
	p, wrong := read("{tool: stampede, stampede: {rate: 5}, guidellm: {x: 1}}")
	if wrong != "" || p.Spec.Blocks["stampede"].IsZero() || p.Spec.Tool != "stampede" {
		t.Errorf("%s: %+v", wrong, p.Spec)
	}
	if _, wrong := read("{tool: stampede}"); !strings.Contains(wrong,
		"spec.stampede: required field is missing: tool stampede needs it") {
		t.Errorf("got %q", wrong)
	}
	if _, wrong := read("{tool: stampede1, stampede: {rate: 5}}"); !strings.Contains(wrong, `did you mean "stampede"?`) {
		t.Errorf("got %q", wrong)
	}
}
