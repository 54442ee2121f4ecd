package fence

import (
	"go/ast"
	"go/parser"
	"slices"
	"testing"
)

// redirects are the files whose clients may be sent elsewhere, each with its reason.
var redirects = map[string]string{
	"tasks/loadgen/client/fallback.go": "a redirect is an outcome that it counts",
}

// TestTasksSayWhereTheirRequestsMayGo: a client of net/http follows every redirect, with the headers of the request.
func TestTasksSayWhereTheirRequestsMayGo(t *testing.T) {
	onlyIn(t, slices.Concat(foundations, []string{"tasks"}), astray, redirects,
		"this client follows redirects: put it into outbound.Stay or outbound.Download")
}

// astray are the clients of net/http below n that package outbound was not asked about.
func astray(n ast.Node) (found []ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if of(n.Fun, "outbound", "Stay", "Download") {
				return false
			}
		case *ast.CompositeLit:
			if of(n.Type, "http", "Client") {
				found = append(found, n)
			}
		case *ast.SelectorExpr:
			if of(n, "http", "DefaultClient", "Get", "Head", "Post", "PostForm") {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// of says whether n is one of the names of package pkg.
func of(n ast.Node, pkg string, names ...string) bool {
	s, ok := n.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg && slices.Contains(names, s.Sel.Name)
}

func TestAClientThatFollowsRedirectsIsSeen(t *testing.T) {
	for text, want := range map[string]int{
		"&http.Client{Timeout: 1}":                1,
		"http.DefaultClient.Do(r)":                1,
		"http.Get(address)":                       1,
		"outbound.Stay(&http.Client{Timeout: 1})": 0,
		"outbound.Download(http.DefaultClient)":   0,
		"c.HTTP.Get(address)":                     0,
	} {
		expr, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := astray(expr); len(got) != want {
			t.Errorf("%s: %d found, want %d", text, len(got), want)
		}
	}
}
