package fence

import (
	"go/ast"
	"testing"
)

// TestOnlyPackageSheetWritesCSV: what a model or a server is called may be a formula, which a spreadsheet computes.
func TestOnlyPackageSheetWritesCSV(t *testing.T) {
	excused := map[string]string{"report/sheet/sheet.go": "it is the package"}
	onlyIn(t, shipped(t), csvWriters, excused, "write it with package sheet")
}

// csvWriters are the places below n that make a writer of package csv.
func csvWriters(n ast.Node) (found []ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if of(n, "csv", "NewWriter") {
			found = append(found, n)
		}
		return true
	})
	return found
}
