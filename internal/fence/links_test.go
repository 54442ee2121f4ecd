package fence

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// link is what a page refers to.
type link struct {
	line   int
	target string
}

func linksOf(p *page) (links []link) {
	for _, form := range []string{
		`\]\(\s*([^()\s]+)[^()]*\)`,     // [text](target "title") and ![text](target)
		`(?m)^\[[^\]]+\]: +(\S+)`,       // [text]: target
		`(?:src|srcset|href)="([^"]+)"`, // HTML
	} {
		for _, at := range regexp.MustCompile(form).FindAllStringSubmatchIndex(p.prose, -1) {
			links = append(links, link{line: lineOf(p.prose, at[2]), target: p.prose[at[2]:at[3]]})
		}
	}
	return links
}

// findBrokenLink says why a link of a page leads nowhere, or nothing.
func findBrokenLink(pages map[string]*page, from *page, target string) string {
	if regexp.MustCompile(`^[a-z]+:`).MatchString(target) { // of another site
		return ""
	}
	file, anchor, _ := strings.Cut(target, "#")
	path := from.path
	if file != "" {
		path = filepath.Join(filepath.Dir(from.path), file)
	}
	switch p := pages[path]; {
	case strings.HasPrefix(path, ".."):
		return "it leaves the project"
	case !exists(path):
		return fmt.Sprintf("there is no %s", path)
	case anchor != "" && (p == nil || !p.anchors[anchor]):
		return fmt.Sprintf("%s has no heading with the anchor %q", path, anchor)
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(filepath.Join(root, path))
	return err == nil
}

func TestEveryLinkOfAPageLeadsSomewhere(t *testing.T) {
	pages, count := readPages(t), 0
	for _, p := range pages {
		for _, l := range linksOf(p) {
			count++
			if why := findBrokenLink(pages, p, l.target); why != "" {
				t.Errorf("%s:%d: link to %q: %s", p.path, l.line, l.target, why)
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d links were found on %d pages", count, len(pages))
	}
}

// TestTheIndexListsEveryPage: a page that nobody finds is not read.
func TestTheIndexListsEveryPage(t *testing.T) {
	pages := readPages(t)
	index := pages["docs/README.md"]
	listed := map[string]bool{}
	for _, l := range linksOf(index) {
		file, _, _ := strings.Cut(l.target, "#")
		listed[filepath.Join("docs", file)] = true
	}
	for path := range pages {
		if filepath.Dir(path) == "docs" && path != index.path && !listed[path] {
			t.Errorf("%s does not list %s: add a row under what it helps to do", index.path, path)
		}
	}
}

// TestExamplesNamePagesThatExist: files of examples/ are read without the pages that explain them.
func TestExamplesNamePagesThatExist(t *testing.T) {
	for path, text := range readExamples(t) {
		for _, name := range regexp.MustCompile(`\bdocs/[\w/-]+\.\w+`).FindAllString(text, -1) {
			if !exists(name) {
				t.Errorf("%s names %s, which does not exist", path, name)
			}
		}
	}
}

// readExamples returns the text of every YAML file of examples/ by its path.
func readExamples(t *testing.T) map[string]string {
	t.Helper()
	examples := map[string]string{}
	for _, pattern := range []string{"examples/*.yaml", "examples/*/*.yaml"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			examples[strings.TrimPrefix(path, root+"/")] = string(text)
		}
	}
	return examples
}

func TestABrokenLinkIsFound(t *testing.T) {
	from := parsePage("docs/README.md", "# Here\n\n"+
		"[a](#here) [`b`](../README.md) ![c](no.png) [d](#there) [e](../../x.md) <https://bflow.dev>\n"+
		"`[f](code.md)`\n\n```\n[g](code.md)\n```\n")
	pages := map[string]*page{from.path: from, "README.md": parsePage("README.md", "# There\n")}
	var got []string
	for _, l := range linksOf(from) {
		if why := findBrokenLink(pages, from, l.target); why != "" {
			got = append(got, fmt.Sprintf("%d: %s", l.line, why))
		}
	}
	want := []string{
		`3: there is no docs/no.png`, `3: docs/README.md has no heading with the anchor "there"`, `3: it leaves the project`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("want %q, got %q", want, got)
	}
}
