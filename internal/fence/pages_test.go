package fence

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

const root = "../.."

// page is a Markdown file.
type page struct {
	path    string          // from the root of the project
	prose   string          // all but its code: fenced blocks are empty lines, inline code is dots
	anchors map[string]bool // what a link to it may end with
	code    []snippet
}

// snippet is code that a page shows.
type snippet struct {
	line  int
	text  string
	typed bool // a command that a reader types, and not what a program prints
	shell bool // of a block for a shell, which has comments
}

// readPages returns every page of the project by its path.
func readPages(t *testing.T) map[string]*page {
	t.Helper()
	pages := map[string]*page{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || path != root && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		pages[name] = parsePage(name, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

func parsePage(path, text string) *page {
	p := &page{path: path, anchors: map[string]bool{}}
	outside := p.cutBlocks(text)
	for _, at := range regexp.MustCompile("`(?:[^`\n]|\n[^`\n])+`").FindAllStringIndex(outside, -1) {
		p.code = append(p.code, snippet{line: lineOf(outside, at[0]), text: outside[at[0]+1 : at[1]-1], typed: true})
	}
	for _, heading := range regexp.MustCompile(`(?m)^#{1,6} +(.+)$`).FindAllStringSubmatch(outside, -1) {
		p.addAnchor(anchorOf(heading[1]))
	}
	for _, named := range regexp.MustCompile(`<[^>]* (?:id|name)="([^"]+)"`).FindAllStringSubmatch(outside, -1) {
		p.anchors[named[1]] = true
	}
	p.prose = regexp.MustCompile("`(?:[^`\n]|\n[^`\n])+`").ReplaceAllStringFunc(outside, func(code string) string {
		return regexp.MustCompile(`[^\n]`).ReplaceAllString(code, ".")
	})
	return p
}

// cutBlocks moves the fenced blocks of a page to its code and returns the rest, with an empty line for each of theirs.
func (p *page) cutBlocks(text string) (outside string) {
	var kept []string
	kind, inside, continued := "", false, false
	for n, line := range strings.Split(text, "\n") {
		opens, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence:
			inside, kind, continued = !inside, opens, false
			line = ""
		case inside && continued:
			last := &p.code[len(p.code)-1]
			last.text = strings.TrimSuffix(last.text, `\`) + " " + line
			continued, line = strings.HasSuffix(line, `\`), ""
		case inside:
			command, prompt := strings.CutPrefix(line, "$ ")
			typed := kind == "sh" || kind == "console" && prompt
			p.code = append(p.code, snippet{line: n + 1, text: command, typed: typed, shell: typed})
			continued, line = typed && strings.HasSuffix(line, `\`), ""
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}

// addAnchor adds that of a heading; of headings with the same words the second ends with -1.
func (p *page) addAnchor(anchor string) {
	name := anchor
	for n := 1; p.anchors[name]; n++ {
		name = anchor + "-" + strconv.Itoa(n)
	}
	p.anchors[name] = true
}

// anchorOf is the anchor that GitHub gives a heading.
func anchorOf(heading string) string {
	heading = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(heading, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsMark(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

func lineOf(text string, offset int) int { return 1 + strings.Count(text[:offset], "\n") }

func TestAnchorsAreThoseOfGitHub(t *testing.T) {
	p := parsePage("page.md", "# Pipeline `bflow-experiment`\n\n## What is kept, and for how long\n\n"+
		"## Twice\n\n## Twice\n\n"+
		"## A [link](elsewhere.md) & a_name\n\n```sh\n# no heading\n```\n")
	for _, want := range []string{
		"pipeline-bflow-experiment", "what-is-kept-and-for-how-long", "twice", "twice-1", "a-link--a_name",
	} {
		if !p.anchors[want] {
			t.Errorf("there is no anchor %q, but %v", want, p.anchors)
		}
	}
	if len(p.anchors) != 5 {
		t.Errorf("want 5 anchors, got %v", p.anchors)
	}
}
