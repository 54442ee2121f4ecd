package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block is a fenced part of a page.
type block struct {
	page string
	line int    // of its first line
	kind string // sh, console, yaml or ""
	text string
}

// read parts a page into its blocks.
func read(t *testing.T, page string) (blocks []block) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	var open *block
	for n, line := range strings.Split(string(text), "\n") {
		kind, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &block{page: page, line: n + 2, kind: kind}
		case fence:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: this block has no end", page, open.line)
	}
	return blocks
}

// command is one line for a shell, and what the page says that it prints.
type command struct {
	line string
	says []string
}

// commands are those of a block: of sh every line, of console those behind "$ ".
func (b block) commands() (all []command) {
	if b.kind != "sh" && b.kind != "console" {
		return nil
	}
	continued := false
	for line := range strings.Lines(b.text) {
		line = strings.TrimSuffix(line, "\n")
		text, prompt := strings.CutPrefix(line, "$ ")
		switch {
		case continued:
			all[len(all)-1].line += "\n" + line
		case b.kind == "console" && !prompt:
			if n := len(all); n > 0 {
				all[n-1].says = append(all[n-1].says, line)
			}
			continue
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			continue
		default:
			all = append(all, command{line: text})
		}
		continued = strings.HasSuffix(line, `\`)
	}
	return all
}

// file is the name that the first line of a block of YAML gives it: "# first.yaml".
func (b block) file() string {
	first, _, _ := strings.Cut(b.text, "\n")
	if name, ok := strings.CutPrefix(first, "# "); ok && regexp.MustCompile(`^[a-z-]+\.yaml$`).MatchString(name) {
		return name
	}
	return ""
}

// What changes from run to run becomes a word for it; how much room there is between columns does not matter.
var changing = []struct {
	what *regexp.Regexp
	word string
}{
	{regexp.MustCompile(`\b[a-z0-9]+(-[a-z0-9]+)*-\d{8}-\d{6}-[a-z0-9]{5}\b`), "RUN"},
	{regexp.MustCompile(`(/[\w.-]+)*/runs/`), "RUNS/"},
	{regexp.MustCompile(`\d\d:\d\d:\d\d`), "TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{12,}\b`), "HASH"},
	{regexp.MustCompile(`\bpass\b|\binvalid\b`), "VERDICT"}, // the machine of the test may be busy
	{regexp.MustCompile(`-?\d+(\.\d+)?(e[+-]?\d+)?[~*]*`), "N"},
	{regexp.MustCompile(`\s+`), " "},
}

func normal(line string) string {
	for _, c := range changing {
		line = c.what.ReplaceAllString(line, c.word)
	}
	return strings.TrimSpace(line)
}

// missing is the first line of says that printed does not have, in their order; "..." stands for any lines, and for any
// text within one.
func missing(says []string, printed string) string {
	lines := strings.Split(printed, "\n")
	for _, want := range says {
		if strings.TrimSpace(want) == "..." {
			continue
		}
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(normal(want)), `\.\.\.`, ".*") + "$")
		for len(lines) > 0 && !pattern.MatchString(normal(lines[0])) {
			lines = lines[1:]
		}
		if len(lines) == 0 {
			return want
		}
		lines = lines[1:]
	}
	return ""
}

func TestMissing(t *testing.T) {
	const printed = "22:27:51  first-20261125-222751-v1ogg\n22:27:51    provision    ok  0.0s\nfirst rate-20  19.8   40.0~  0%       - invalid\nreport: /tmp/x/runs/first-20261125-222751-v1ogg/report.html\n"
	for _, row := range []struct {
		name string
		says []string
		want string
	}{
		{"the page of another day", []string{"05:51:50  first-20261121-055150-64c9c", "first rate-20  19.9   40.1  0%       - pass", "report: /home/me/runs/first-20261121-055150-64c9c/report.html"}, ""},
		{"lines that are left out", []string{"...", "report: /home/me/runs/first-20261121-055150-64c9c/..."}, ""},
		{"a line that is not printed", []string{"05:51:50    smoketest    ok  0.0s"}, "05:51:50    smoketest    ok  0.0s"},
		{"another order", []string{"05:51:50    provision    ok  0.0s", "05:51:50  first-20261121-055150-64c9c"}, "05:51:50  first-20261121-055150-64c9c"},
	} {
		if got := missing(row.says, printed); got != row.want {
			t.Errorf("%s: %q is missing, want %q", row.name, got, row.want)
		}
	}
}
