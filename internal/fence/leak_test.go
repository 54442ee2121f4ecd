package fence

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWhoStartsGoroutinesIsCheckedForLeaks: a package whose code starts goroutines has a TestMain that fails when one
// of them outlives the tests. A package without tests has nothing that could check it, so it passes. With -v it lists
// the packages that are checked.
func TestWhoStartsGoroutinesIsCheckedForLeaks(t *testing.T) {
	var checked []string
	all := packages(t)
	for _, pkg := range list(t, "{{if .GoFiles}}{{.ImportPath}}{{end}}", "./...") {
		if dir := strings.TrimPrefix(pkg, module); all[dir] == nil {
			t.Errorf("%s is not read", dir)
		}
	}
	for dir, p := range all {
		switch {
		case p.checked:
			checked = append(checked, dir)
		case p.starts != "" && p.tested:
			t.Errorf("%s starts a goroutine (%s) and its tests do not check that all have ended: "+
				"add leak_test.go with func TestMain(m *testing.M) { leakcheck.Main(m) }, or run leakcheck.Around(m) "+
				"in the TestMain that is there", dir, p.starts)
		}
	}
	slices.Sort(checked)
	t.Logf("%d packages are checked:\n%s", len(checked), strings.Join(checked, "\n"))
}

func TestStartsAndChecksAreFound(t *testing.T) {
	for _, row := range []struct {
		name, text      string
		starts, checked bool
	}{
		{"a go statement in a function in a function", "func f() { func() { go f() }() }", true, false},
		{"a group that starts", "func f(all *sync.WaitGroup) { all.Go(f) }", true, false},
		{"a timer that calls", "func f() { time.AfterFunc(1, f) }", true, false},
		{"a context that calls", "func f() { context.AfterFunc(nil, f) }", true, false},
		{"a word in a comment or a text", "// go f()\nconst x = `go f()`", false, false},
		{"a TestMain with the check", "func TestMain(m *testing.M) { leakcheck.Main(m) }", false, true},
		{"a TestMain that does something else before",
			"func TestMain(m *testing.M) { f(); testscript.Main(leakcheck.Around(m), nil) }", false, true},
		{"a TestMain without the check", "func TestMain(m *testing.M) { m.Run() }", false, false},
		{"the check in another function", "func TestOther(m *testing.M) { leakcheck.Main(m) }", false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			file, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\n"+row.text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if starts := starter(file) != nil; starts != row.starts {
				t.Errorf("it starts a goroutine: %v", starts)
			}
			if checked := checks(file); checked != row.checked {
				t.Errorf("it checks: %v", checked)
			}
		})
	}
}

// pack is what the files of a folder say.
type pack struct {
	starts          string // where its code starts a goroutine first
	tested, checked bool
}

// packages reads every file of the module, also those of other systems and tags.
func packages(t *testing.T) map[string]*pack {
	t.Helper()
	all := map[string]*pack{}
	eachGoFile(t, func(path string) error {
		dir := filepath.ToSlash(filepath.Dir(path))
		if all[dir] == nil {
			all[dir] = &pack{}
		}
		return all[dir].read(filepath.Join(root, path))
	})
	return all
}

func (p *pack) read(path string) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if strings.HasSuffix(path, "_test.go") {
		p.tested = true
		p.checked = p.checked || checks(file)
		return nil
	}
	if at := starter(file); at != nil && p.starts == "" {
		pos := files.Position(at.Pos())
		pos.Filename = filepath.Base(pos.Filename)
		p.starts = pos.String()
	}
	return nil
}

// starts are the names of functions that start a goroutine: of groups, of timers and contexts, of controller-runtime.
var starts = []string{"Go", "AfterFunc", "NewManager"}

// starter is the first node that starts a goroutine: a go statement, or a call of one of those.
func starter(file *ast.File) (found ast.Node) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = n
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains(starts, f.Sel.Name) {
				found = n
			}
		}
		return found == nil
	})
	return found
}

// checks says whether a TestMain of the file uses leakcheck.
func checks(file *ast.File) (found bool) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != "TestMain" || f.Recv != nil {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "leakcheck" {
					found = true
				}
			}
			return !found
		})
	}
	return found
}
