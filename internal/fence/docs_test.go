package fence

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocsNameTestsThatExist sees that what the docs call shown is shown.
func TestDocsNameTestsThatExist(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	tests := declaredTests(t)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*)`").FindAllSubmatch(text, -1) {
			if !tests[string(m[1])] {
				t.Errorf("%s names %s, which is no test", filepath.Base(page), m[1])
			}
		}
	}
}

// quote is a piece of code on a page: the comment before it names its file.
var quote = regexp.MustCompile("(?ms)^( *)<!-- (\\S+\\.go) -->\n *```go\n(.*?)^ *```$")

// TestDocsQuoteCodeThatExists: what a page shows as code of a file stands there, line by line.
func TestDocsQuoteCodeThatExists(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	quotes := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range quote.FindAllStringSubmatch(string(text), -1) {
			quotes++
			indent, file, code := m[1], m[2], m[3]
			source, err := os.ReadFile(filepath.Join("../..", file))
			if err != nil {
				t.Errorf("%s: %v", filepath.Base(page), err)
				continue
			}
			var lines []string
			for line := range strings.Lines(code) {
				lines = append(lines, strings.TrimPrefix(line, indent))
			}
			if !strings.Contains(string(source), strings.Join(lines, "")) {
				t.Errorf("%s quotes what is not in %s:\n%s", filepath.Base(page), file, code)
			}
		}
	}
	if quotes == 0 {
		t.Error("no page quotes code: are they marked as before?")
	}
}

// declaredTests are the tests of the whole module, whatever tags they are built with.
func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test[A-Z][A-Za-z0-9]*)\(`).FindAllSubmatch(source, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}
