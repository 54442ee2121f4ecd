package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/scalar"
)

// Path is a parsed dotted path: overrides.runtime.env.SEED, load.stages[0].rate, node_selector["a.b/c"].
type Path []Seg

// Seg is a key, or an index where Key is empty.
type Seg struct {
	Key   string
	Index int
}

// ParsePath parses a dotted path; ["a.b/c"] quotes a key that holds a dot, a bracket or a blank.
func ParsePath(s string) (Path, error) {
	var p Path
	for rest := s; rest != ""; {
		seg, tail, err := nextSeg(rest, len(p) == 0)
		if err != nil {
			return nil, fmt.Errorf("reading path %q: %w", s, err)
		}
		p, rest = append(p, seg), tail
	}
	if len(p) == 0 {
		return nil, fmt.Errorf("reading path %q: want a dotted path such as load.stages[0].rate", s)
	}
	return p, nil
}

func nextSeg(s string, first bool) (Seg, string, error) {
	if strings.HasPrefix(s, "[") {
		return bracket(s)
	}
	if !first {
		if s[0] != '.' {
			return Seg{}, "", fmt.Errorf("want . or [ before %q", s)
		}
		s = s[1:]
	}
	end := strings.IndexAny(s, ".[")
	if end < 0 {
		end = len(s)
	}
	if end == 0 {
		return Seg{}, "", fmt.Errorf("want a key before %q", s)
	}
	return Seg{Key: s[:end]}, s[end:], nil
}

// bracket reads [3] or ["key"].
func bracket(s string) (Seg, string, error) {
	if strings.HasPrefix(s, `["`) {
		text, err := strconv.QuotedPrefix(s[1:])
		if err != nil || !strings.HasPrefix(s[1+len(text):], "]") {
			return Seg{}, "", fmt.Errorf(`want a quoted key such as ["a.b/c"] at %q`, s)
		}
		key, err := strconv.Unquote(text)
		if err != nil || key == "" {
			return Seg{}, "", fmt.Errorf(`want a quoted key such as ["a.b/c"] at %q`, s)
		}
		return Seg{Key: key}, s[len(text)+2:], nil
	}
	digits, tail, closed := strings.Cut(s[1:], "]")
	index, err := strconv.ParseUint(digits, 10, 16)
	if !closed || err != nil {
		return Seg{}, "", fmt.Errorf(`want an index such as [0] or a quoted key such as ["a.b/c"] at %q`, s)
	}
	return Seg{Index: int(index)}, tail, nil
}

// String is the spelling that ParsePath reads.
func (p Path) String() string {
	var b strings.Builder
	for i, seg := range p {
		switch {
		case seg.Key == "":
			fmt.Fprintf(&b, "[%d]", seg.Index)
		case strings.ContainsAny(seg.Key, ".[]\" \t\n"):
			fmt.Fprintf(&b, "[%q]", seg.Key)
		case i == 0:
			b.WriteString(seg.Key)
		default:
			b.WriteString("." + seg.Key)
		}
	}
	return b.String()
}

// hasPrefix reports whether p is at or below q.
func (p Path) hasPrefix(q Path) bool {
	if len(p) < len(q) {
		return false
	}
	for i := range q {
		if p[i] != q[i] {
			return false
		}
	}
	return true
}

// Get returns the node at p below root, nil when there is none.
func Get(root *yaml.Node, p Path) *yaml.Node {
	n := root
	for _, seg := range p {
		if n = child(n, seg); n == nil {
			return nil
		}
	}
	return n
}

// child returns the value of a key or the entry at an index.
func child(n *yaml.Node, seg Seg) *yaml.Node {
	if i := slot(n, seg); i >= 0 {
		return n.Content[i]
	}
	return nil
}

// slot is the index into n.Content of what seg names, -1 when it is not there.
func slot(n *yaml.Node, seg Seg) int {
	switch {
	case n == nil:
	case seg.Key == "" && n.Kind == yaml.SequenceNode && seg.Index < len(n.Content):
		return seg.Index
	case seg.Key != "" && n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == seg.Key {
				return i + 1
			}
		}
	}
	return -1
}

// With returns root with the value at p replaced whole. It copies the nodes along the path only and does not modify
// root, so that trees can share the rest. Missing mappings are made; an index must exist or be the next one.
func With(root *yaml.Node, p Path, value *yaml.Node) (*yaml.Node, error) {
	if len(p) == 0 {
		return value, nil
	}
	out, err := opened(root, p[0], value)
	if err != nil {
		return nil, err
	}
	i := slot(out, p[0])
	if i < 0 {
		if p[0].Key != "" {
			out.Content = append(out.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: p[0].Key, Line: value.Line,
				Column: value.Column})
		}
		i = len(out.Content)
		out.Content = append(out.Content, nil)
	}
	out.Content[i], err = With(out.Content[i], p[1:], value)
	return out, err
}

// opened returns a shallow copy of n that can take seg: a mapping for a key, a list for an index.
func opened(n *yaml.Node, seg Seg, value *yaml.Node) (*yaml.Node, error) {
	kind, tag, want := yaml.MappingNode, "!!map", "a mapping"
	if seg.Key == "" {
		kind, tag, want = yaml.SequenceNode, "!!seq", "a list"
	}
	if scalar.Null(n) {
		n = &yaml.Node{Kind: kind, Tag: tag, Line: value.Line, Column: value.Column}
	}
	if n.Kind != kind {
		return nil, fmt.Errorf("want %s to hold %s, found %s", want, Path{seg}, scalar.Found(n))
	}
	if seg.Key == "" && seg.Index > len(n.Content) {
		return nil, fmt.Errorf("want an index of at most %d, found %d", len(n.Content), seg.Index)
	}
	out := *n
	out.Content = append(make([]*yaml.Node, 0, len(n.Content)+2), n.Content...)
	return &out, nil
}

// without returns root with what p names removed; root itself when it is not there. It does not modify root.
func without(root *yaml.Node, p Path) *yaml.Node {
	i := slot(root, p[0])
	if i < 0 {
		return root
	}
	out := *root
	out.Content = append([]*yaml.Node(nil), root.Content...)
	switch {
	case len(p) > 1:
		out.Content[i] = without(out.Content[i], p[1:])
	case p[0].Key != "":
		out.Content = append(out.Content[:i-1], out.Content[i+1:]...)
	default:
		out.Content = append(out.Content[:i], out.Content[i+1:]...)
	}
	return &out
}

// spelt returns n, which is of type t, with the keys along p in their first spellings and the short forms along it
// written out: a value can be put at p whatever the words of the file are. It does not modify n.
func (c *codec) spelt(n *yaml.Node, t reflect.Type, p Path) *yaml.Node {
	if n == nil || t == nil || len(p) == 0 || scalar.Null(n) {
		return n
	}
	t = bare(t)
	out := *longForm(n, t, p[0])
	out.Content = slices.Clone(out.Content)
	var elem reflect.Type
	key := p[0]
	switch tab := c.tables[t]; {
	case tab != nil && out.Kind == yaml.MappingNode && tab.byName[key.Key] != nil:
		elem = tab.byName[key.Key].typ
		tab.rename(&out, key.Key)
	case t.Kind() == reflect.Map || t.Kind() == reflect.Slice:
		elem = t.Elem()
	}
	if i := slot(&out, key); i >= 0 && elem != nil {
		out.Content[i] = c.spelt(out.Content[i], elem, p[1:])
	}
	return &out
}

// rename gives the key of a field in mapping n its first spelling.
func (t *table) rename(n *yaml.Node, name string) {
	f := t.byName[name]
	for i := 0; i+1 < len(n.Content); i += 2 {
		if t.byName[n.Content[i].Value] == f {
			key := *n.Content[i]
			key.Value = f.name
			n.Content[i] = &key
		}
	}
}

// longForm returns scalar n as the mapping or the list that it is short for, where seg leads into one.
func longForm(n *yaml.Node, t reflect.Type, seg Seg) *yaml.Node {
	if n.Kind != yaml.ScalarNode {
		return n
	}
	at := yaml.Node{Line: n.Line, Column: n.Column}
	short, isShort := reflect.Zero(t).Interface().(shortType)
	switch {
	case isShort && seg.Key != "":
		key := at
		key.Kind, key.Tag, key.Value = yaml.ScalarNode, "!!str", short.Shorthand()
		at.Kind, at.Tag, at.Content = yaml.MappingNode, "!!map", []*yaml.Node{&key, n}
	case seg.Key == "" && (isAxis(t) || t.Implements(reflect.TypeFor[listType]())):
		at.Kind, at.Tag, at.Content = yaml.SequenceNode, "!!seq", []*yaml.Node{n}
	default:
		return n
	}
	return &at
}
