package fence

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// verb is a command of bflow as docs/cli.md has it, which is generated from the command line itself.
type verb struct {
	flags map[string]bool // with their dashes
	runs  bool            // false: only the commands below it do anything
}

// readVerbs returns the commands by their words, "bflow" first.
func readVerbs(t *testing.T) map[string]*verb {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	verbs := parseVerbs(string(text))
	if len(verbs) < 30 || !verbs["bflow run"].flags["--local"] || !verbs["bflow run"].runs {
		t.Fatalf("docs/cli.md has %d commands, and bflow run is %+v", len(verbs), verbs["bflow run"])
	}
	return verbs
}

func parseVerbs(text string) map[string]*verb {
	current, name := &verb{flags: map[string]bool{"--version": true}}, "bflow"
	verbs := map[string]*verb{name: current, "bflow step": {runs: true}} // hidden: local runs start their steps by it
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			name, current = heading, &verb{flags: map[string]bool{}}
			verbs[name] = current
		}
		current.runs = current.runs || strings.HasPrefix(line, name+" [FLAGS]")
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| `-") {
			for _, flag := range regexp.MustCompile("`(--?[a-z0-9-]+)`").FindAllStringSubmatch(cells[0], -1) {
				current.flags[flag[1]], current.runs = true, true
			}
		}
	}
	return verbs
}

// splitCommands parts code into the words of its commands. Brackets are those of a usage line, and go.
func splitCommands(s snippet) (commands [][]string) {
	var words []string
	var word strings.Builder
	endWord := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
		}
		word.Reset()
	}
	endCommand := func() {
		if endWord(); len(words) > 0 {
			commands = append(commands, words)
		}
		words = nil
	}
	depth, quote := 0, rune(0)
	for _, r := range s.text {
		switch {
		case quote != 0 && r != quote:
			word.WriteRune(r)
		case s.typed && (r == '"' || r == '\''):
			quote = map[bool]rune{true: 0, false: r}[quote == r]
		case s.shell && r == '#' && word.Len() == 0:
			endCommand()
			return commands
		case r == '[' && word.Len() == 0:
			depth++
		case r == ']' && depth > 0:
			depth--
		case r == '|' && depth > 0, r == ' ', r == '\t', r == '\n':
			endWord()
		case strings.ContainsRune("|;&()<>`", r):
			endCommand()
		default:
			word.WriteRune(r)
		}
	}
	endCommand()
	return commands
}

// findMisuse says what the commands of bflow in a snippet name that bflow does not have.
func findMisuse(verbs map[string]*verb, s snippet) (misuse []string) {
	for _, words := range splitCommands(s) {
		for i, word := range words {
			if word == "bflow" || strings.HasSuffix(word, "bin/bflow") {
				misuse = append(misuse, checkCommand(verbs, words[i+1:], s.typed)...)
			}
		}
	}
	return misuse
}

// checkCommand checks the words after bflow. Where they are only prose, a word that is no verb may be anything.
func checkCommand(verbs map[string]*verb, words []string, typed bool) (misuse []string) {
	name, arguments := "bflow", false
	for i, word := range words {
		if i > 0 && !typed && strings.ContainsAny(words[i-1], ",:;") { // the sentence goes on with something else
			return misuse
		}
		word = strings.TrimRight(word, ".,:;")
		flag, _, _ := strings.Cut(word, "=")
		switch below := verbs[name+" "+word]; {
		case word == "--":
			return misuse
		case regexp.MustCompile(`^--?[a-z]`).MatchString(flag):
			if !verbs[name].flags[flag] && flag != "--help" && flag != "-h" {
				misuse = append(misuse, fmt.Sprintf("%s has no flag %s", name, flag))
			}
		case below != nil && !arguments:
			name = name + " " + word
		case !verbs[name].runs && regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(word):
			if typed || name != "bflow" {
				misuse = append(misuse, fmt.Sprintf("%s has no command %s", name, word))
			}
			return misuse
		default:
			arguments = true
		}
	}
	return misuse
}

func TestEveryCommandOfAPageIsOneOfBflow(t *testing.T) {
	verbs, count := readVerbs(t), 0
	check := func(where string, s snippet) {
		if strings.Contains(s.text, "bflow ") {
			count++
		}
		for _, misuse := range findMisuse(verbs, s) {
			t.Errorf("%s:%d: %s", where, s.line, misuse)
		}
	}
	for _, p := range readPages(t) {
		for _, s := range p.code {
			check(p.path, s)
		}
	}
	for path, text := range readExamples(t) {
		for n, line := range strings.Split(text, "\n") {
			check(path, snippet{line: n + 1, text: line})
		}
	}
	if count < 200 {
		t.Errorf("only %d commands were found", count)
	}
}

func TestACommandThatBflowDoesNotHaveIsFound(t *testing.T) {
	verbs := readVerbs(t)
	block := func(text string) snippet { return snippet{text: text, typed: true, shell: true} }
	for _, row := range []struct {
		name string
		code snippet
		want []string
	}{
		{"a flag of another verb", block("bin/bflow validate x.yaml --local"),
			[]string{"bflow validate has no flag --local"}},
		{"a verb", block("BFLOW_X=1 bflow submit x.yaml"), []string{"bflow has no command submit"}},
		{"a verb below a verb", block("bflow bundle pull x"), []string{"bflow bundle has no command pull"}},
		{"behind a pipe", block("cat x | bflow plan --no - | grep --color y"), []string{"bflow plan has no flag --no"}},
		{"in a usage line", snippet{text: "bflow logs RUN [--task NAME | --motor]", typed: true},
			[]string{"bflow logs has no flag --motor"}},
		{"in a sentence", snippet{text: "bflow run: as bflow wait says, see bflow watch --once."},
			[]string{"bflow watch has no flag --once"}},
		{"in a list of verbs", snippet{text: "see also bflow status, report and rerun --failed"}, nil},
		{"flags of others", block(`helm install --wait x; bflow run a.yaml -n b --set 'a=--b c' # --c`), nil},
		{"a verb with commands below it", block("bflow bootstrap --single-cluster -n bench"), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := findMisuse(verbs, row.code); !slices.Equal(got, row.want) {
				t.Errorf("want %q, got %q", row.want, got)
			}
		})
	}
}
