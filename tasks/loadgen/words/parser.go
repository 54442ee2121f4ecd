package words

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
)

// parser holds one reading on its way.
type parser struct {
	env        map[string]string
	names      []string // of env, in its order
	files      func(string) ([]byte, error)
	lenient    bool
	req        Request
	findings   []Finding
	origins    []string          // where a value comes from: a node's line counts from 1 into it
	block      *yaml.Node        // of the tool
	settings   map[string]string // variables that the translation reads
	incomplete bool              // something is missing without which nothing more can be said
	after      []func()          // what is changed once the block is translated
}

func newParser(env func() []string, files func(string) ([]byte, error), lenient bool) *parser {
	p := &parser{env: map[string]string{}, files: files, lenient: lenient, settings: map[string]string{}}
	for _, pair := range env() {
		name, value, ok := strings.Cut(pair, "=")
		if _, twice := p.env[name]; ok && !twice {
			p.names = append(p.names, name)
			p.env[name] = value
			if hole := problem.Unfilled(value, false); strings.HasPrefix(name, "GUIDELLM_") && hole != "" {
				p.errorf(name, "%s", hole)
			}
		}
	}
	return p
}

func (p *parser) errorf(word, format string, args ...any) {
	p.findings = append(p.findings, Finding{Word: word, Text: fmt.Sprintf(format, args...)})
}

func (p *parser) warnf(word, format string, args ...any) {
	p.findings = append(p.findings, Finding{Word: word, Text: fmt.Sprintf(format, args...), Warning: true})
}

// leaves reports a word that is left out: an error, unless the reading is lenient.
func (p *parser) leaves(word, format string, args ...any) {
	p.findings = append(p.findings, Finding{Word: word, Text: fmt.Sprintf(format, args...), Warning: p.lenient})
}

// missing reports that nothing names what has to be named.
func (p *parser) missing(format string, args ...any) {
	p.incomplete = true
	p.errorf("", format, args...)
}

// unknown reports a word that nobody knows.
func (p *parser) unknown(word string, known []string) {
	p.leaves(word, "unknown word%s", problem.Nearest(word, known))
}

// only reports a word that the real tool alone can follow.
func (p *parser) only(word, tool string) {
	p.leaves(word, "only %s itself can do this: remove it, or run the real tool", tool)
}

// origin is the mark of a word on the nodes that it makes.
func (p *parser) origin(word string) int {
	for i, o := range p.origins {
		if o == word {
			return i + 1
		}
	}
	p.origins = append(p.origins, word)
	return len(p.origins)
}

// word is where a problem of the translation comes from.
func (p *parser) word(line int) string {
	if line < 1 || line > len(p.origins) {
		return ""
	}
	return p.origins[line-1]
}

// text is a scalar that a word made.
func (p *parser) text(word, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: value, Line: p.origin(word), Column: 1}
}

// json is the value of a word that may be JSON, else text.
func (p *parser) json(word, value string) *yaml.Node {
	trimmed := strings.TrimSpace(value)
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return p.text(word, value)
	}
	n, err := parseYAML([]byte(trimmed))
	if err != nil {
		p.errorf(word, "reading JSON: %v", err)
		return nil
	}
	p.mark(n, func(*yaml.Node) string { return word })
	return n
}

// file reads a YAML or JSON file that word names; its values come from their places in it.
func (p *parser) file(word, path string) *yaml.Node {
	b, err := p.files(path)
	if err != nil {
		p.incomplete = true
		p.errorf(word, "reading %q: %v", path, err)
		return nil
	}
	n, err := parseYAML(b)
	if err != nil {
		p.errorf(word, "reading %q: %v", path, err)
		return nil
	}
	if n.Kind != yaml.MappingNode {
		p.errorf(word, "reading %q: want a mapping of keys to values", path)
		return nil
	}
	at := func(n *yaml.Node) string { return fmt.Sprintf("%s:%d:%d", path, n.Line, n.Column) }
	p.unfilled(n, at)
	p.mark(n, at)
	return n
}

// unfilled reports what nothing has filled in below n. What is read of it later may be taken out of the block before that is
// translated: a token of a template would become the name of a host.
func (p *parser) unfilled(n *yaml.Node, at func(*yaml.Node) string) {
	if hole := problem.Unfilled(n.Value, false); n.Kind == yaml.ScalarNode && hole != "" {
		p.errorf(at(n), "%s", hole)
	}
	for _, c := range n.Content {
		p.unfilled(c, at)
	}
}

// mark gives every node below n the origin that at says.
func (p *parser) mark(n *yaml.Node, at func(*yaml.Node) string) {
	p.origins = append(p.origins, at(n))
	n.Line, n.Column = len(p.origins), 1
	for _, c := range n.Content {
		p.mark(c, at)
	}
}

// maxFile bounds a file of words; maxNodes its values after aliases.
const (
	maxFile  = 64 << 20
	maxNodes = 20_000
)

// parseYAML reads one document and replaces its aliases, so that nothing behind this point meets one.
func parseYAML(b []byte) (*yaml.Node, error) {
	if len(b) > maxFile {
		return nil, fmt.Errorf("want at most %d bytes, found %d", maxFile, len(b))
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("it is empty")
	}
	left := maxNodes
	n := plain(doc.Content[0], 0, &left)
	if n == nil {
		return nil, fmt.Errorf("want at most %d values and 40 levels", maxNodes)
	}
	return n, nil
}

func plain(n *yaml.Node, depth int, left *int) *yaml.Node {
	*left--
	if *left < 0 || depth > 40 {
		return nil
	}
	if n.Kind == yaml.AliasNode {
		return plain(n.Alias, depth+1, left)
	}
	out := *n
	out.Anchor, out.Content = "", nil
	for _, c := range n.Content {
		sub := plain(c, depth+1, left)
		if sub == nil {
			return nil
		}
		out.Content = append(out.Content, sub)
	}
	return &out
}
