package fence

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOnlyPackageSheetWritesCSV: what a model or a server is called may be a formula, which a spreadsheet computes.
func TestOnlyPackageSheetWritesCSV(t *testing.T) {
	files := token.NewFileSet()
	for _, folder := range slices.Concat(foundations,
		[]string{"cmd", "generator", "pipelines", "queue", "runs", "tasks"}) {
		err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.Contains(path, "report/sheet/") {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if e, ok := n.(ast.Expr); ok && of(e, "csv", "NewWriter") {
					t.Errorf("%s: write it with package sheet", files.Position(n.Pos()))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
