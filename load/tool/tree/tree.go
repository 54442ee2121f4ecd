// Package tree builds and changes trees of YAML nodes: a block of a tool while its words are read.
package tree

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// Mapping is an empty mapping.
func Mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

// List is a list of nodes.
func List(items ...*yaml.Node) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
	if len(items) > 0 && items[0] != nil {
		n.Line, n.Column = items[0].Line, 1
	}
	return n
}

// Child is the value of key below a mapping, nil where there is none or it is null.
func Child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key && n.Content[i].Kind == yaml.ScalarNode {
			if IsNull(n.Content[i+1]) {
				return nil
			}
			return n.Content[i+1]
		}
	}
	return nil
}

// IsNull reports a null.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// At is the node below a path of keys, nil where there is none.
func At(n *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		n = Child(n, key)
	}
	return n
}

// TextAt is the scalar below a path of keys, empty where there is none.
func TextAt(n *yaml.Node, path ...string) string {
	if c := At(n, path...); c != nil && c.Kind == yaml.ScalarNode {
		return c.Value
	}
	return ""
}

// Put sets the value below a path of keys, making the mappings on the way; a nil value sets nothing.
func Put(n, value *yaml.Node, path ...string) {
	if value == nil {
		return
	}
	for i, key := range path {
		if i == len(path)-1 {
			Set(n, key, value)
			return
		}
		next := Child(n, key)
		if next == nil || next.Kind != yaml.MappingNode {
			next = Mapping()
			next.Line, next.Column = value.Line, 1
			Set(n, key, next)
		}
		n = next
	}
}

// Set replaces or appends one pair.
func Set(n *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = value
			return
		}
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key, Line: value.Line, Column: 1}, value)
}

// Take removes the value below a path of keys and returns it.
func Take(n *yaml.Node, path ...string) *yaml.Node {
	if len(path) > 1 {
		n = At(n, path[:len(path)-1]...)
	}
	key := path[len(path)-1]
	found := Child(n, key)
	if n != nil && n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				n.Content = slices.Delete(n.Content, i, i+2)
				break
			}
		}
	}
	return found
}

// Fill adds what weak has and n lacks, mapping by mapping. Lists and scalars are replaced whole, and so is a mapping of
// another kind: its other keys would not fit.
func Fill(n, weak *yaml.Node) {
	if weak == nil || weak.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(weak.Content); i += 2 {
		key, value := weak.Content[i].Value, weak.Content[i+1]
		have := Child(n, key)
		switch {
		case have == nil:
			Set(n, key, value)
		case have.Kind == yaml.MappingNode && value.Kind == yaml.MappingNode && sameKind(have, value):
			Fill(have, value)
		}
	}
}

func sameKind(a, b *yaml.Node) bool {
	x, y := TextAt(a, "kind"), TextAt(b, "kind")
	return x == "" || y == "" || x == y
}

// Keys are the keys of a mapping with their values.
func Keys(n *yaml.Node, visit func(key, value *yaml.Node)) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		visit(n.Content[i], n.Content[i+1])
	}
}

// Texts are the scalars of a list, or the one scalar that stands for a list.
func Texts(n *yaml.Node) []string {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	var out []string
	for _, c := range n.Content {
		if c.Kind == yaml.ScalarNode {
			out = append(out, c.Value)
		}
	}
	return out
}
