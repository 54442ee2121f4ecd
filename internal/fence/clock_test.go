package fence

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoTestSubtractsFromTheClock: .golangci.yml forbids tests to judge by time.Since and its like, and cannot see that
// time.Now().Sub is the same.
func TestNoTestSubtractsFromTheClock(t *testing.T) {
	const root = "../.."
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if subtracts(n) {
				t.Errorf("%s: time.Now().Sub: a busy host makes this longer; see forbidigo in .golangci.yml",
					files.Position(n.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// subtracts says whether n is time.Now().Sub.
func subtracts(n ast.Node) bool {
	sub, ok := n.(*ast.SelectorExpr)
	if !ok || sub.Sel.Name != "Sub" {
		return false
	}
	call, ok := sub.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	now, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || now.Sel.Name != "Now" {
		return false
	}
	pkg, ok := now.X.(*ast.Ident)
	return ok && pkg.Name == "time"
}

func TestASubtractionFromTheClockIsSeen(t *testing.T) {
	for text, want := range map[string]bool{"time.Now().Sub(began)": true, "at.Sub(began)": false,
		"clock.Now().Sub(began)": false, "time.Now().Add(1)": false} {
		expr, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		ast.Inspect(expr, func(n ast.Node) bool {
			found = found || subtracts(n)
			return true
		})
		if found != want {
			t.Errorf("%s: %v, want %v", text, found, want)
		}
	}
}
