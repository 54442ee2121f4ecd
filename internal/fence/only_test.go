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

// onlyIn reports, with advice, what find finds in the product files of folders, except in files that excused gives a
// reason for; and a file there in which it finds nothing.
func onlyIn(t *testing.T, folders []string, find func(ast.Node) []ast.Node, excused map[string]string, advice string) {
	t.Helper()
	const root = "../.."
	used := map[string]bool{}
	files := token.NewFileSet()
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			for _, n := range find(file) {
				if used[rel] = true; excused[rel] == "" {
					t.Errorf("%s: %s", files.Position(n.Pos()), advice)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for path := range excused {
		if !used[path] {
			t.Errorf("%s is excused and has nothing of the kind: remove the line", path)
		}
	}
}
