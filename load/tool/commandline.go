package tool

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/load/tool/tree"
)

// CommandLine is the command line, the environment and the files of a tool while they are read. A tool's Parse fills in
// Request and Block; what the block says is then translated as that of a profile is.
type CommandLine struct {
	Env      map[string]string // the first variable of a name counts
	Names    []string          // of Env, in the order of the environment
	Files    func(path string) ([]byte, error)
	Request  Request
	Block    *yaml.Node        // of the tool
	Settings map[string]string // variables that the translation reads

	tool       Definition
	lenient    bool
	findings   []Finding
	origins    []string // where a value comes from: a node's line counts from 1 into it
	incomplete bool     // something is missing without which nothing more can be said
	changes    []func() // to the request, once the block is translated

	hasEndpoint bool // a server is named, even by a URL that is rejected
}

// NewCommandLine starts a reading of the words of a tool. env returns NAME=value pairs; files reads a file that the
// words name.
func NewCommandLine(of Definition, env []string, files func(string) ([]byte, error), lenient bool) *CommandLine {
	c := &CommandLine{Env: map[string]string{}, Files: files, Settings: map[string]string{}, tool: of, lenient: lenient}
	c.Request.Tool = of.Name
	for _, pair := range env {
		name, value, ok := strings.Cut(pair, "=")
		if _, twice := c.Env[name]; ok && !twice {
			c.Names = append(c.Names, name)
			c.Env[name] = value
		}
	}
	return c
}

// Then changes the request once the block is translated.
func (c *CommandLine) Then(change func()) { c.changes = append(c.changes, change) }

// GiveUp keeps the block from being translated: what it lacks would be reported a second time.
func (c *CommandLine) GiveUp() { c.incomplete = true }

// Errorf reports an error of a word.
func (c *CommandLine) Errorf(word, format string, args ...any) {
	c.findings = append(c.findings, Finding{Word: word, Text: fmt.Sprintf(format, args...)})
}

// Warnf makes a remark about a word.
func (c *CommandLine) Warnf(word, format string, args ...any) {
	c.findings = append(c.findings, Finding{Word: word, Text: fmt.Sprintf(format, args...), Warning: true})
}

// LeaveOut reports a word that is left out: an error, unless the reading is lenient.
func (c *CommandLine) LeaveOut(word, format string, args ...any) {
	c.findings = append(c.findings, Finding{Word: word, Text: fmt.Sprintf(format, args...), Warning: c.lenient})
}

// Missing reports that nothing names what has to be named.
func (c *CommandLine) Missing(format string, args ...any) {
	c.incomplete = true
	c.Errorf("", format, args...)
}

// Unknown reports a word that nobody knows.
func (c *CommandLine) Unknown(word string, known []string) {
	c.LeaveOut(word, "%s", UnknownWord(word, known))
}

// UnknownWord says that nobody knows a word, and which one may be meant.
func UnknownWord(word string, known []string) string {
	return "unknown option" + problem.Nearest(word, known)
}

// ToolOnly reports a word that the real tool alone can follow.
func (c *CommandLine) ToolOnly(word, tool string) {
	c.LeaveOut(word, "only %s itself can do this: remove it, or run the real tool", tool)
}

// Origin is the mark of a word on the nodes that it makes.
func (c *CommandLine) Origin(word string) int {
	for i, o := range c.origins {
		if o == word {
			return i + 1
		}
	}
	c.origins = append(c.origins, word)
	return len(c.origins)
}

// Word is where a problem of the translation comes from.
func (c *CommandLine) Word(line int) string {
	if line < 1 || line > len(c.origins) {
		return ""
	}
	return c.origins[line-1]
}

// Text is a scalar that a word made.
func (c *CommandLine) Text(word, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: value, Line: c.Origin(word), Column: 1}
}

// Put sets the value below a path of keys of the block; a nil value sets nothing.
func (c *CommandLine) Put(value *yaml.Node, path ...string) { tree.Put(c.Block, value, path...) }

// PutText is Put of a scalar that a word made.
func (c *CommandLine) PutText(word, value string, path ...string) {
	c.Put(c.Text(word, value), path...)
}

// At is the node below a path of keys of the block, nil where there is none.
func (c *CommandLine) At(path ...string) *yaml.Node { return tree.At(c.Block, path...) }

// Take removes the node below a path of keys of the block and returns it.
func (c *CommandLine) Take(path ...string) *yaml.Node { return tree.Take(c.Block, path...) }

// TakeText is Take for a scalar.
func (c *CommandLine) TakeText(path ...string) string {
	if n := c.Take(path...); n != nil && n.Kind == yaml.ScalarNode {
		return n.Value
	}
	return ""
}

// AddToList appends what a word says to the list at a key of n.
func (c *CommandLine) AddToList(n *yaml.Node, word, key string, values ...*yaml.Node) {
	have := tree.Child(n, key)
	if have == nil {
		have = tree.List()
		have.Line = c.Origin(word)
		tree.Set(n, key, have)
	}
	have.Content = append(have.Content, values...)
}

// Texts are scalars that a word made.
func (c *CommandLine) Texts(word string, values []string) (nodes []*yaml.Node) {
	for _, v := range values {
		nodes = append(nodes, c.Text(word, v))
	}
	return nodes
}

// JSON is the value of a word that may be JSON, else text.
func (c *CommandLine) JSON(word, value string) *yaml.Node {
	trimmed := strings.TrimSpace(value)
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return c.Text(word, value)
	}
	n, err := ParseYAML([]byte(trimmed))
	if err != nil {
		c.reportJSON(word, err)
		return nil
	}
	c.Mark(n, func(*yaml.Node) string { return word })
	return n
}

// Decode reads the value of a word into a Go value.
func (c *CommandLine) Decode(word string, n *yaml.Node, into any) {
	if err := n.Decode(into); err != nil {
		c.reportJSON(word, err)
	}
}

func (c *CommandLine) reportJSON(word string, err error) { c.Errorf(word, "reading JSON: %v", err) }

// File reads a YAML or JSON file that word names; its values come from their places in it.
func (c *CommandLine) File(word, path string) *yaml.Node {
	b, err := c.Files(path)
	if err != nil {
		c.incomplete = true
		c.Errorf(word, "reading %q: %v", path, err)
		return nil
	}
	n, err := ParseYAML(b)
	if err != nil {
		c.Errorf(word, "reading %q: %v", path, err)
		return nil
	}
	if n.Kind != yaml.MappingNode {
		c.Errorf(word, "reading %q: want a mapping of keys to values", path)
		return nil
	}
	at := func(n *yaml.Node) string { return fmt.Sprintf("%s:%d:%d", path, n.Line, n.Column) }
	c.reportHoles(n, at)
	c.Mark(n, at)
	return n
}

// reportHoles reports what nothing has filled in below n. What is read of it later may be taken out of the block before
// that is translated: a token of a template would become the name of a host.
func (c *CommandLine) reportHoles(n *yaml.Node, at func(*yaml.Node) string) {
	if hole := problem.Unfilled(n.Value, false); n.Kind == yaml.ScalarNode && hole != "" {
		c.Errorf(at(n), "%s", hole)
	}
	for _, sub := range n.Content {
		c.reportHoles(sub, at)
	}
}

// Mark gives every node below n the origin that at says.
func (c *CommandLine) Mark(n *yaml.Node, at func(*yaml.Node) string) {
	c.origins = append(c.origins, at(n))
	n.Line, n.Column = len(c.origins), 1
	for _, sub := range n.Content {
		c.Mark(sub, at)
	}
}

// maxWordsFile bounds a file of words; maxWordsNodes its values after aliases.
const (
	maxWordsFile  = 64 << 20
	maxWordsNodes = 20_000
)

// ParseYAML reads one document and replaces its aliases, so that nothing behind this point meets one.
func ParseYAML(b []byte) (*yaml.Node, error) {
	if len(b) > maxWordsFile {
		return nil, fmt.Errorf("want at most %d bytes, found %d", maxWordsFile, len(b))
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("it is empty")
	}
	left := maxWordsNodes
	n := withoutAliases(doc.Content[0], 0, &left)
	if n == nil {
		return nil, fmt.Errorf("want at most %d values and 40 levels", maxWordsNodes)
	}
	return n, nil
}

func withoutAliases(n *yaml.Node, depth int, left *int) *yaml.Node {
	*left--
	if *left < 0 || depth > 40 {
		return nil
	}
	if n.Kind == yaml.AliasNode {
		return withoutAliases(n.Alias, depth+1, left)
	}
	out := *n
	out.Anchor, out.Content = "", nil
	for _, c := range n.Content {
		sub := withoutAliases(c, depth+1, left)
		if sub == nil {
			return nil
		}
		out.Content = append(out.Content, sub)
	}
	return &out
}
