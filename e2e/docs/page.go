package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Block is a fenced part of a page.
type Block struct {
	Page string // path from the root of the project
	Line int    // of its first line
	Kind string // sh, console, yaml or ""
	Text string
}

// Read parts a page into its blocks. The tests of this project run two folders below its root.
func Read(page string) (blocks []Block, err error) {
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		return nil, fmt.Errorf("reading a page: %w", err)
	}
	var open *Block
	for n, line := range strings.Split(string(text), "\n") {
		kind, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &Block{Page: page, Line: n + 2, Kind: kind}
		case fence:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.Text += line + "\n"
		}
	}
	if open != nil {
		return nil, fmt.Errorf("reading a page: %s:%d: this block has no end", page, open.Line)
	}
	return blocks, nil
}

// Command is one line for a shell, and what the page says that it prints.
type Command struct {
	Line string
	Says []string
}

// Commands are those of a block: of sh every line, of console those behind "$ ".
func (b Block) Commands() (all []Command) {
	if b.Kind != "sh" && b.Kind != "console" {
		return nil
	}
	continued := false
	for line := range strings.Lines(b.Text) {
		line = strings.TrimSuffix(line, "\n")
		text, prompt := strings.CutPrefix(line, "$ ")
		switch {
		case continued:
			all[len(all)-1].Line += "\n" + line
		case b.Kind == "console" && !prompt:
			if n := len(all); n > 0 {
				all[n-1].Says = append(all[n-1].Says, line)
			}
			continue
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			continue
		default:
			all = append(all, Command{Line: text})
		}
		continued = strings.HasSuffix(line, `\`)
	}
	return all
}

// File is the name that the first line of a block of YAML gives it: "# first.yaml".
func (b Block) File() string {
	first, _, _ := strings.Cut(b.Text, "\n")
	if name, ok := strings.CutPrefix(first, "# "); ok && regexp.MustCompile(`^[a-z-]+\.yaml$`).MatchString(name) {
		return name
	}
	return ""
}

// change is what differs from run to run, and the word for it.
type change struct {
	what *regexp.Regexp
	word string
}

// changes are all of them; how much room there is between columns does not matter either.
func changes() []change {
	return []change{
		{regexp.MustCompile(`\b[a-z0-9]+(-[a-z0-9]+)*-\d{8}-\d{6}-[a-z0-9]{5}\b`), "RUN"},
		{regexp.MustCompile(`\bbflow-experiment-run-[a-z0-9]{5}\b`), "RUN"},
		{regexp.MustCompile(`(/[\w.-]+)*/runs/`), "RUNS/"},
		{regexp.MustCompile(`\d\d:\d\d:\d\d`), "TIME"},
		{regexp.MustCompile(`\b[0-9a-f]{12,}\b`), "HASH"},
		{regexp.MustCompile(`\bpass\b|\binvalid\b`), "VERDICT"}, // the machine of the test may be busy
		{regexp.MustCompile(`-?\d+(\.\d+)?(e[+-]?\d+)?[~*]*`), "N"},
		{regexp.MustCompile(`\s+`), " "},
	}
}

func normal(line string) string {
	for _, c := range changes() {
		line = c.what.ReplaceAllString(line, c.word)
	}
	return strings.TrimSpace(line)
}

// Missing is the first line of says that printed does not have, in their order; "..." stands for any lines, and for any
// text within one.
func Missing(says []string, printed string) string {
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
