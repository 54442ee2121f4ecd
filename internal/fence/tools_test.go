package fence

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bflow.dev/bflow/load/tool/registry"
)

// TestOnlyTheRegistryKnowsLoadTools: a tool is one package and one line of the registry. Whoever else asks for a tool
// by its name would have to be changed for the next one.
func TestOnlyTheRegistryKnowsLoadTools(t *testing.T) {
	var names []string
	for _, of := range registry.All() {
		names = append(names, of.Definition().Name)
	}
	searched := []string{
		"cmd", "generator", "load", "pipelines", "platform", "queue", "report", "runplan", "runs", "tasks", "verdict",
	}
	at := token.NewFileSet()
	for dir, files := range parseAll(t, at) {
		top, _, _ := strings.Cut(dir, "/")
		if strings.HasPrefix(dir, "load/tool/") || !slices.Contains(searched, top) {
			continue
		}
		for _, file := range files {
			if strings.HasSuffix(at.Position(file.Pos()).Filename, "_test.go") {
				continue
			}
			for _, lit := range toolsNamed(file, names) {
				t.Errorf("%s: %s names a load tool: ask package registry", at.Position(lit.Pos()), lit.Value)
			}
		}
	}
}

// toolsNamed are the texts in a file that are the name of a load tool, or the path of its package.
func toolsNamed(file *ast.File, names []string) (found []*ast.BasicLit) {
	for _, lit := range literalsIn(file) {
		text, err := strconv.Unquote(lit.Value)
		if err == nil && (slices.Contains(names, text) || isToolPackage(text)) {
			found = append(found, lit)
		}
	}
	return found
}

func TestAFileThatNamesALoadToolIsSeen(t *testing.T) {
	for text, want := range map[string]int{
		`import "bflow.dev/bflow/load/tool/guidellm"`: 1,
		`import "bflow.dev/bflow/load/tool/registry"`: 0,
		`import "bflow.dev/bflow/load/tool"`:          0,
		`const name = "guidellm"`:                     1,
		`const say = "as guidellm does"`:              0,
		"type block struct { F int `guidellm` }":      0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := toolsNamed(file, []string{"guidellm"}); len(got) != want {
			t.Errorf("%s: %d found, want %d", text, len(got), want)
		}
	}
}

// isToolPackage reports whether a path is that of a package of one load tool.
func isToolPackage(path string) bool {
	name, ok := strings.CutPrefix(path, module+"load/tool/")
	return ok && !slices.Contains([]string{"argv", "registry", "tree"}, name)
}

// literalsIn are the texts in a file, paths of imports among them; tags of fields are none.
func literalsIn(file *ast.File) (found []*ast.BasicLit) {
	ast.Inspect(file, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && field.Tag != nil {
			return false
		}
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			found = append(found, lit)
		}
		return true
	})
	return found
}
