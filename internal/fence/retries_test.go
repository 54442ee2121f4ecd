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

// TestEveryControllerTriesAgainWithinAMinute: controller-runtime spaces the attempts at what fails up to a quarter of
// an hour, and most of what fails comes back without a word.
func TestEveryControllerTriesAgainWithinAMinute(t *testing.T) {
	files, found := token.NewFileSet(), 0
	err := filepath.WalkDir("../../queue", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		all, patient := controllers(file)
		found += all
		for _, n := range patient {
			t.Errorf("%s: this controller waits ever longer: give it controller.Options{RateLimiter: watch.Backoff()}",
				files.Position(n.Pos()))
		}
		return nil
	})
	if err != nil || found < 10 {
		t.Fatalf("%d controllers: %v", found, err)
	}
}

// controllers counts the controllers that are made below n, and returns those whose attempts nothing bounds.
func controllers(n ast.Node) (all int, patient []ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		last, ok := n.(*ast.CallExpr)
		if !ok || !called(last, "Complete", "Build") {
			return true
		}
		made, bounded := false, false
		for call, ok := last, true; ok; call, ok = before(call) {
			made = made || of(call.Fun, "ctrl", "NewControllerManagedBy")
			bounded = bounded || called(call, "WithOptions") && retries(call)
		}
		if made {
			all++
		}
		if made && !bounded {
			patient = append(patient, last)
		}
		return true
	})
	return all, patient
}

// called says whether a call is of a method of one of the names.
func called(call *ast.CallExpr, names ...string) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains(names, s.Sel.Name)
}

// before is the call whose result a call is of.
func before(call *ast.CallExpr) (*ast.CallExpr, bool) {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil, false
	}
	x, ok := s.X.(*ast.CallExpr)
	return x, ok
}

// retries says whether watch.Backoff is below a call.
func retries(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		found = found || ok && of(e, "watch", "Backoff")
		return true
	})
	return found
}

func TestAControllerThatWaitsEverLongerIsSeen(t *testing.T) {
	for text, want := range map[string]int{
		`ctrl.NewControllerManagedBy(mgr).Named("x").Complete(r)`: 1,
		`ctrl.NewControllerManagedBy(mgr).WithOptions(controller.Options{MaxConcurrentReconciles: ` +
			`4}).Complete(r)`: 1,
		`ctrl.NewControllerManagedBy(mgr).WithOptions(controller.Options{RateLimiter: ` +
			`watch.Backoff()}).Named("x").Complete(r)`: 0,
		`other.Complete(r)`: 0,
	} {
		expr, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := controllers(expr); len(got) != want {
			t.Errorf("%s: %d found, want %d", text, len(got), want)
		}
	}
}
