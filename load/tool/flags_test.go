package tool_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/load/tool"
)

func TestATableOfFlagsIsWords(t *testing.T) {
	for _, row := range []struct {
		name, table string
		want        []tool.KnownFlag
		arities     map[string]tool.Arity
	}{
		{"a name alone takes one value", "rate", []tool.KnownFlag{{Names: []string{"rate"}}},
			map[string]tool.Arity{"rate": tool.One}},
		{"every spelling takes the same", "model-names=model=m+",
			[]tool.KnownFlag{{Names: []string{"model-names", "model", "m"}, Mark: "+"}},
			map[string]tool.Arity{"model-names": tool.Some, "model": tool.Some, "m": tool.Some}},
		{"a switch with its default", "streaming!:false",
			[]tool.KnownFlag{{Names: []string{"streaming"}, Mark: "!", Default: "false"}},
			map[string]tool.Arity{"streaming": tool.None}},
		{"words are parted by blanks and lines", "\n\tgpu*\n\tseed:42 \n",
			[]tool.KnownFlag{{Names: []string{"gpu"}, Mark: "*"}, {Names: []string{"seed"}, Default: "42"}},
			map[string]tool.Arity{"gpu": tool.Free, "seed": tool.One}},
		{"a mark of the tool's own takes one value", "data&", []tool.KnownFlag{{Names: []string{"data"}, Mark: "&"}},
			map[string]tool.Arity{"data": tool.One}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, tool.ParseTable(row.table)); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.arities, tool.Arities(row.table)); diff != "" {
				t.Errorf("arities (-want +got):\n%s", diff)
			}
		})
	}
}
