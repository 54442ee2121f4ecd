package words

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// flatScenario reads a scenario of 0.4 to 0.6, whose keys are the words. It reports whether the file turned out to be one
// of later words, which is then read as that.
func (p *parser) flatScenario(in *flatInput, g given, args []string, set settings) bool {
	name := g.value.Value
	n := p.builtin(name)
	if n == nil {
		n = p.file(g.word, name)
	}
	if n == nil {
		return false
	}
	if child(n, "spec") != nil || child(n, "metadata") != nil {
		p.typedFile(n, args, set)
		return true
	}
	if inner := child(n, "args"); inner != nil && child(n, "benchmarks") != nil { // a report
		n = inner
	}
	p.scenarioWords(in, n)
	return false
}

func (p *parser) scenarioWords(in *flatInput, n *yaml.Node) {
	names := map[string]string{}
	var known []string
	for _, w := range flatWords() {
		for _, name := range append([]string{w.name}, w.aliases...) {
			names[name] = w.name
			known = append(known, name)
		}
	}
	keys(n, func(k, v *yaml.Node) {
		name, ok := names[strings.ReplaceAll(k.Value, "-", "_")]
		switch {
		case isNull(v):
		case slices.Contains([]string{"rampup_duration", "processor_args"}, k.Value) && k.Value == "rampup_duration":
			in.words["rampup"] = given{value: v, word: p.word(k.Line), flag: true}
		case !ok:
			p.unknownKey(k, known)
		default:
			in.words[name] = given{value: v, word: p.word(k.Line), flag: true}
		}
	})
}

func (p *parser) unknownKey(k *yaml.Node, known []string) {
	from := len(p.findings)
	p.unknown(k.Value, known)
	p.findings[from].Text = fmt.Sprintf("%q: %s", k.Value, p.findings[from].Text)
	p.findings[from].Word = p.word(k.Line)
}

// builtin is a scenario that the tool itself comes with, nil where there is none of this name.
func (p *parser) builtin(name string) *yaml.Node {
	for _, s := range builtins() {
		if s.name == strings.TrimPrefix(name, "rhaiis/") {
			n, err := parseYAML([]byte(s.text()))
			if err != nil {
				p.errorf(name, "reading the built-in scenario: %v", err)
				return nil
			}
			p.mark(n, func(*yaml.Node) string { return "scenario " + name })
			return n
		}
	}
	return nil
}

// builtinScenario is a scenario of the tool in numbers.
type builtinScenario struct {
	name, data string
	seconds    int
	streams    []int // nil: of 0.4 to 0.6, a sweep
}

func (s builtinScenario) text() string {
	if s.streams == nil {
		return "{profile: sweep, data: {" + s.data + "}}"
	}
	entries := make([]string, len(s.streams))
	for i, n := range s.streams {
		entries[i] = fmt.Sprintf("{profile.streams: %d}", n)
	}
	return fmt.Sprintf("{metadata: {name: %s}, spec: {profile: {kind: concurrent}, data: [{kind: synthetic_text, %s}], constraints: [{kind: max_duration, seconds: %d}]}, benchmarks: [%s]}",
		s.name, s.data, s.seconds, strings.Join(entries, ", "))
}

func builtins() []builtinScenario {
	wide, narrow := []int{1, 50, 100, 200, 300}, []int{1, 25, 50, 75, 100}
	return []builtinScenario{
		{"chat", "prompt_tokens: 512, prompt_tokens_stdev: 128, prompt_tokens_min: 1, prompt_tokens_max: 1024, output_tokens: 256, output_tokens_stdev: 64, output_tokens_min: 1, output_tokens_max: 1024", 0, nil},
		{"rag", "prompt_tokens: 4096, prompt_tokens_stdev: 512, prompt_tokens_min: 2048, prompt_tokens_max: 6144, output_tokens: 512, output_tokens_stdev: 128, output_tokens_min: 1, output_tokens_max: 1024", 0, nil},
		{"concurrent-100k-1k-equal", "prompt_tokens: 100000, output_tokens: 1000", 450, []int{1, 2, 5}},
		{"concurrent-1k-1k-equal", "prompt_tokens: 1000, output_tokens: 1000", 450, wide},
		{"concurrent-1k-1k-multiturn", "prompt_tokens: 1000, output_tokens: 1000, turns: 5, prefix_tokens: 512, prefix_count: 10", 450, narrow},
		{"concurrent-2ki-128-equal", "prompt_tokens: 2048, output_tokens: 128", 45, wide},
		{"concurrent-512-2ki-norm", "prompt_tokens: 512, prompt_tokens_stdev: 128, prompt_tokens_min: 1, prompt_tokens_max: 1024, output_tokens: 2048, output_tokens_stdev: 512, output_tokens_min: 1, output_tokens_max: 4096", 450, wide},
		{"concurrent-8k-1k-equal", "prompt_tokens: 8000, output_tokens: 1000", 450, narrow},
		{"concurrent-8k-800-norm", "prompt_tokens: 8000, prompt_tokens_stdev: 8500, prompt_tokens_min: 50, prompt_tokens_max: 30000, output_tokens: 800, output_tokens_stdev: 1500, output_tokens_min: 20, output_tokens_max: 8000", 450, wide},
	}
}
