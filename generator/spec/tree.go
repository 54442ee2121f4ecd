package spec

import (
	"bytes"
	"errors"
	"io"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load/tool"
)

// Limits of one file. They keep a hostile or broken file from costing more than a moment.
const (
	maxFileBytes = 1 << 20
	maxNesting   = tool.MaxDepth
	maxNodes     = tool.MaxNodes
	maxItems     = tool.MaxList
	maxKeyBytes  = 512 // a path repeats its keys in every problem below
)

// parse splits a file into documents, with anchors, aliases and merges resolved. Empty documents are left out.
// After a syntax error the documents before it are still returned.
func parse(file string, data []byte) ([]*yaml.Node, problem.List) {
	if len(data) > maxFileBytes {
		return nil, problem.List{problem.At(file, nil, "", "want a file of at most 1 MiB, found %d bytes", len(data))}
	}
	var roots []*yaml.Node
	var found problem.List
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return roots, found
		}
		if err != nil {
			return roots, append(found, syntaxProblem(file, data, err))
		}
		f := flattener{file: file, open: map[*yaml.Node]bool{}}
		root := f.node(doc.Content[0], 1)
		found = append(found, f.found...)
		root.HeadComment = opening(&doc)
		if cut := f.nodes > maxNodes; !scalar.Null(root) && !cut { // what a cut document lacks would be reported as missing
			roots = append(roots, root)
		}
	}
}

// opening is the comment above a document, which the library hangs on the document, its top or its first key.
func opening(doc *yaml.Node) string {
	for n := doc; ; n = n.Content[0] {
		if n.HeadComment != "" || len(n.Content) == 0 {
			return n.HeadComment
		}
	}
}

// flattener copies a document into a plain tree: mappings with unique text keys, lists, scalars.
type flattener struct {
	file  string
	nodes int
	open  map[*yaml.Node]bool // collections being copied, to find an alias inside its own anchor
	path  Path
	found problem.List
}

func (f *flattener) report(n *yaml.Node, format string, args ...any) {
	f.found.Add(problem.At(f.file, n, f.path.String(), format, args...))
}

// node copies n, which is at the given nesting, and returns null for what it refuses.
func (f *flattener) node(n *yaml.Node, nesting int) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return f.alias(n, nesting)
	}
	out := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value, Style: n.Style, Line: n.Line, Column: n.Column}
	if !f.admit(n, nesting) {
		out.Kind, out.Tag, out.Value = yaml.ScalarNode, "!!null", "null"
		return out
	}
	if scalar.Null(out) {
		out.Value = "null" // the library writes an empty one as '', which is text
	}
	f.open[n] = true
	defer delete(f.open, n)
	switch n.Kind {
	case yaml.MappingNode:
		f.mapping(n, out, nesting)
	case yaml.SequenceNode:
		for i, item := range n.Content {
			f.path = append(f.path, Seg{Index: i})
			out.Content = append(out.Content, f.node(item, nesting+1))
			f.path = f.path[:len(f.path)-1]
		}
	}
	return out
}

// admit counts n and checks the limits; the node limit is reported once.
func (f *flattener) admit(n *yaml.Node, nesting int) bool {
	f.nodes++
	switch {
	case f.nodes > maxNodes:
		if f.nodes == maxNodes+1 {
			f.report(n, "want at most %d values in a document after alias expansion; this is one more", maxNodes)
		}
		return false
	case n.Kind != yaml.ScalarNode && nesting > maxNesting:
		f.report(n, "want at most %d levels of nesting", maxNesting)
		return false
	case n.Kind == yaml.SequenceNode && len(n.Content) > maxItems:
		f.report(n, "want at most %d entries, found %d", maxItems, len(n.Content))
		return false
	case n.Style&yaml.TaggedStyle != 0 && !coreTag(n.Tag):
		f.report(n, "want no tag, found %q", n.Tag)
		return false
	}
	return true
}

func coreTag(tag string) bool {
	switch tag {
	case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq", "!!timestamp", "!!merge":
		return true
	}
	return false
}

func (f *flattener) alias(n *yaml.Node, nesting int) *yaml.Node {
	if f.open[n.Alias] || f.nodes > maxNodes {
		if f.open[n.Alias] {
			f.report(n, "alias *%s contains itself", n.Value)
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null", Line: n.Line, Column: n.Column}
	}
	return f.node(n.Alias, nesting)
}

// mapping copies the entries of n into out: its own first, then merged ones that it does not have.
func (f *flattener) mapping(n, out *yaml.Node, nesting int) {
	places := make(map[string]*yaml.Node, len(n.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.Tag == "!!merge" {
			merges = append(merges, value)
			continue
		}
		key = f.key(key, places)
		if key == nil {
			continue
		}
		f.path = append(f.path, Seg{Key: key.Value})
		out.Content = append(out.Content, key, f.node(value, nesting+1))
		f.path = f.path[:len(f.path)-1]
	}
	for _, m := range merges {
		f.merge(m, out, places, nesting)
	}
}

// key returns a copy of key, nil when it is no text or already there.
func (f *flattener) key(key *yaml.Node, places map[string]*yaml.Node) *yaml.Node {
	if key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	if key.Kind != yaml.ScalarNode || scalar.Null(key) || key.Value == "" {
		f.report(key, "want text as a key")
		return nil
	}
	if len(key.Value) > maxKeyBytes {
		f.report(key, "want a key of at most %d bytes, found %d", maxKeyBytes, len(key.Value))
		return nil
	}
	if first, ok := places[key.Value]; ok {
		f.report(key, "duplicate key %q, first at %s:%d:%d", key.Value, f.file, first.Line, first.Column)
		return nil
	}
	places[key.Value] = key
	f.nodes++
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key.Value, Line: key.Line, Column: key.Column}
}

// merge adds the entries of m (a mapping, or a list of them, the first strongest) that out lacks.
func (f *flattener) merge(m, out *yaml.Node, places map[string]*yaml.Node, nesting int) {
	flat := f.node(m, nesting)
	sources := []*yaml.Node{flat}
	if flat.Kind == yaml.SequenceNode {
		sources = flat.Content
	}
	for _, source := range sources {
		if source.Kind != yaml.MappingNode {
			f.report(m, "want a mapping or a list of mappings after <<, found %s", scalar.Found(source))
			return
		}
		for i := 0; i+1 < len(source.Content); i += 2 {
			if key := source.Content[i]; places[key.Value] == nil {
				places[key.Value] = key
				out.Content = append(out.Content, key, source.Content[i+1])
			}
		}
	}
}
