package compile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompilerIsPure: no sockets, no processes, no clock, no environment; see the package comment.
func TestCompilerIsPure(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	banned := map[string]bool{"net": true, "net/http": true, "os/exec": true, "math/rand": true, "math/rand/v2": true,
		"time.Now": true, "os.Getenv": true, "os.LookupEnv": true, "os.Environ": true}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if used := nameOf(n); banned[used] {
				t.Errorf("%s uses %s", name, used)
			}
			return true
		})
	}
}

// nameOf is the path of an import or the package.Name of a selector.
func nameOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return strings.Trim(n.Path.Value, `"`)
	case *ast.SelectorExpr:
		if pkg, ok := n.X.(*ast.Ident); ok {
			return pkg.Name + "." + n.Sel.Name
		}
	}
	return ""
}
