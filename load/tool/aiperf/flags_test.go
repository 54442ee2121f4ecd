package aiperf

import (
	"testing"

	"bflow.dev/bflow/load/tool"
)

// TestAFlagIsInOneTable: what is followed in one table and ignored in another would be both.
func TestAFlagIsInOneTable(t *testing.T) {
	found := map[string]bool{}
	for _, f := range tool.ParseTable(followed + toolOnly + atDefault + quiet) {
		for _, name := range f.Names {
			if found[name] {
				t.Errorf("%s stands twice", name)
			}
			found[name] = true
		}
	}
}
