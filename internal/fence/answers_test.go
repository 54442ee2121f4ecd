package fence

import (
	"go/ast"
	"go/parser"
	"testing"
)

// readsWhole are the files that read something to its end without a limit, each with its reason.
var readsWhole = map[string]string{
	"internal/bounded/bounded.go": "it is the package",
	"tasks/step/lastline.go":      "a section of a file, of a size that it chooses",
}

// TestNothingIsReadWithoutALimit: what others send, or have written, may have no end, and a task that reads it into
// memory is killed.
func TestNothingIsReadWithoutALimit(t *testing.T) {
	onlyIn(t, shipped(t), unlimited, readsWhole,
		"what this reads may have no end: use package bounded, or say in readsWhole why it has one")
}

// unlimited are the calls below n that read to the end of a reader that is not limited in the same place, or that
// decode the body of an answer as it comes.
func unlimited(n ast.Node) (found []ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		switch {
		case !ok:
		case of(f, "io", "ReadAll") && !limited(call.Args[0]), of(f, "json", "NewDecoder") && body(call.Args[0]):
			found = append(found, n)
		}
		return true
	})
	return found
}

func limited(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && of(f, "io", "LimitReader")
}

func body(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Body"
}

func TestAReadWithoutALimitIsSeen(t *testing.T) {
	for text, want := range map[string]int{
		`io.ReadAll(resp.Body)`:                                  1,
		`use(io.ReadAll(gz))`:                                    1,
		`json.NewDecoder(resp.Body).Decode(&v)`:                  1,
		`io.ReadAll(io.LimitReader(resp.Body, 4<<10))`:           0,
		`bounded.ReadAll(resp.Body, 4<<10)`:                      0,
		`json.NewDecoder(bounded.Reader(resp.Body, 4)).Decode()`: 0,
		`json.NewDecoder(file)`:                                  0,
	} {
		expr, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := unlimited(expr); len(got) != want {
			t.Errorf("%s: %d found, want %d", text, len(got), want)
		}
	}
}
