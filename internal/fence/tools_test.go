package fence

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bflow.dev/bflow/load/tool/registry"
)

// knowTools are packages that name a load tool without being its own, each with its reason.
var knowTools = map[string]string{
	"load/tool/registry":       "the list of tools",
	"tasks/loadgen/standalone": "which files of an export a command line asked for",
}

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
		own := strings.HasPrefix(dir, "load/tool/") && dir != "load/tool/registry" || strings.HasPrefix(dir, "report/tools/")
		if own || knowTools[dir] != "" || !slices.Contains(searched, top) {
			continue
		}
		for _, file := range files {
			if strings.HasSuffix(at.Position(file.Pos()).Filename, "_test.go") {
				continue
			}
			for _, lit := range literalsIn(file) {
				text, _ := strconv.Unquote(lit.Value)
				if slices.Contains(names, text) || isToolPackage(text) {
					t.Errorf("%s: %s names a load tool: ask package registry", at.Position(lit.Pos()), lit.Value)
				}
			}
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
