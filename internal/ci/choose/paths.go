package choose

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// stringsIn returns the paths outside its own folder that a Go file names, relative to that folder (string literals
// that begin with "../", and calls of Join whose first arguments are such literals), and its other string literals of
// one word. A path that has only dots ("../..") names no file: it is where a command runs, which uses what its test is
// said to use.
func stringsIn(file string) (paths, words []string, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, fmt.Errorf("looking for what a package reads and builds: %w", err)
	}
	add := func(word string) {
		if p := path.Clean(word); !strings.HasPrefix(p, "../") {
			words = append(words, word)
		} else if strings.Trim(p, "./") != "" {
			paths = append(paths, p)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Join" {
				add(joined(n.Args))
			}
		case *ast.BasicLit:
			add(literal(n))
		}
		return true
	})
	return paths, words, nil
}

// joined is the path of the first arguments of a call, as far as they are literals.
func joined(args []ast.Expr) (p string) {
	for _, a := range args {
		s := literal(a)
		if s == "" {
			break
		}
		p = path.Join(p, s)
	}
	return p
}

func literal(e ast.Expr) string {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return ""
	}
	s, err := strconv.Unquote(l.Value)
	if err != nil || strings.ContainsAny(s, "\n ") {
		return ""
	}
	return s
}
