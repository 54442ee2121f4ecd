package fence

import (
	"go/ast"
	"go/parser"
	"path/filepath"
	"strings"
	"testing"
)

// exporters are the folders of packages that write files in the formats of tools. The package of a load tool does that
// in its files results_*.go: the others read its block, which is free.
func exporters(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(root + "/load/tool/*/results_*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no package of a load tool has files results_*.go: %v", err)
	}
	all := []string{"report/tools", "tasks/loadgen/standalone"}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			all = append(all, strings.TrimPrefix(file, root+"/"))
		}
	}
	return all
}

// TestFormatsOfToolsAreStructs: an object that is put together by names in one place and read by a struct in another
// states the format of a tool twice. What is free in a format is a typed map or json.RawMessage.
func TestFormatsOfToolsAreStructs(t *testing.T) {
	excused := map[string]string{"report/tools/structtest/compare.go": "it compares any two files"}
	onlyIn(t, exporters(t), looseObjects, excused,
		"this is an object of anything: give the format a struct that is read and written")
}

// looseObjects are the types of maps from texts to anything below n.
func looseObjects(n ast.Node) (found []ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		m, ok := n.(*ast.MapType)
		if !ok {
			return true
		}
		key, isName := m.Key.(*ast.Ident)
		switch value := m.Value.(type) {
		case *ast.Ident:
			ok = value.Name == "any"
		case *ast.InterfaceType:
			ok = len(value.Methods.List) == 0
		default:
			ok = false
		}
		if ok && isName && key.Name == "string" {
			found = append(found, m)
		}
		return true
	})
	return found
}

func TestALooseObjectIsSeen(t *testing.T) {
	for text, want := range map[string]int{
		`map[string]any{"a": 1}`:                    1,
		`map[string]interface{}{}`:                  1,
		`[]map[string]any{{"a": map[string]any{}}}`: 2,
		`map[string]json.RawMessage{}`:              0,
		`map[string]float64{}`:                      0,
		`map[int]any{}`:                             0,
	} {
		expr, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := looseObjects(expr); len(got) != want {
			t.Errorf("%s: %d found, want %d", text, len(got), want)
		}
	}
}
