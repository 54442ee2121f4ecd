package fence

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// onlyIn reports, with advice, what find finds in the product files of places, which are folders with those below them
// or single files, except in files that excused gives a reason for; a file there in which it finds nothing, and a place
// that has no files.
func onlyIn(
	t *testing.T, places []string, find func(ast.Node) []ast.Node, excused map[string]string, advice string,
) {
	t.Helper()
	used, at := map[string]bool{}, token.NewFileSet()
	eachGoFile(t, func(path string) error {
		isMeant := false
		for _, place := range places {
			if (path == place || strings.HasPrefix(path, place+"/")) && !strings.HasSuffix(path, "_test.go") {
				isMeant, used[place] = true, true
			}
		}
		if !isMeant {
			return nil
		}
		file, err := parser.ParseFile(at, filepath.Join(root, path), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, n := range find(file) {
			if used[path] = true; excused[path] == "" {
				t.Errorf("%s: %s", at.Position(n.Pos()), advice)
			}
		}
		return nil
	})
	for _, place := range places {
		if !used[place] {
			t.Errorf("%s has no files: name the folder to which they have moved", place)
		}
	}
	for path := range excused {
		if !used[path] {
			t.Errorf("%s is excused and has nothing of the kind: remove the line", path)
		}
	}
}

// shipped are the folders of the packages that are built into a program of cmd.
func shipped(t *testing.T) (folders []string) {
	t.Helper()
	found := map[string]bool{}
	for _, pkg := range list(t, "{{.ImportPath}} {{range .Deps}}{{.}} {{end}}", "./cmd/...") {
		if folder, ours := strings.CutPrefix(pkg, module); ours && !found[folder] {
			found[folder], folders = true, append(folders, folder)
		}
	}
	return folders
}
