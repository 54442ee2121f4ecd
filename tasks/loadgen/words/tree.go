package words

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// mapping is an empty mapping.
func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

// list is a list of nodes.
func list(items ...*yaml.Node) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
	if len(items) > 0 && items[0] != nil {
		n.Line, n.Column = items[0].Line, 1
	}
	return n
}

// child is the value of key below a mapping, nil where there is none or it is null.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key && n.Content[i].Kind == yaml.ScalarNode {
			if isNull(n.Content[i+1]) {
				return nil
			}
			return n.Content[i+1]
		}
	}
	return nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// at is the node below a path of keys, nil where there is none.
func at(n *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		n = child(n, key)
	}
	return n
}

// textAt is the scalar below a path of keys, empty where there is none.
func textAt(n *yaml.Node, path ...string) string {
	if c := at(n, path...); c != nil && c.Kind == yaml.ScalarNode {
		return c.Value
	}
	return ""
}

// put sets the value below a path of keys, making the mappings on the way; a nil value sets nothing.
func put(n, value *yaml.Node, path ...string) {
	if value == nil {
		return
	}
	for i, key := range path {
		if i == len(path)-1 {
			set(n, key, value)
			return
		}
		next := child(n, key)
		if next == nil || next.Kind != yaml.MappingNode {
			next = mapping()
			next.Line, next.Column = value.Line, 1
			set(n, key, next)
		}
		n = next
	}
}

// set replaces or appends one pair.
func set(n *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = value
			return
		}
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key, Line: value.Line, Column: 1}, value)
}

// take removes the value below a path of keys and returns it.
func take(n *yaml.Node, path ...string) *yaml.Node {
	if len(path) > 1 {
		n = at(n, path[:len(path)-1]...)
	}
	key := path[len(path)-1]
	found := child(n, key)
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

// takeText is take for a scalar.
func takeText(n *yaml.Node, path ...string) string {
	if c := take(n, path...); c != nil && c.Kind == yaml.ScalarNode {
		return c.Value
	}
	return ""
}

// fill adds what weak has and n lacks, mapping by mapping. Lists and scalars are replaced whole, and so is a mapping of
// another kind: its other keys would not fit.
func fill(n, weak *yaml.Node) {
	if weak == nil || weak.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(weak.Content); i += 2 {
		key, value := weak.Content[i].Value, weak.Content[i+1]
		have := child(n, key)
		switch {
		case have == nil:
			set(n, key, value)
		case have.Kind == yaml.MappingNode && value.Kind == yaml.MappingNode && sameKind(have, value):
			fill(have, value)
		}
	}
}

func sameKind(a, b *yaml.Node) bool {
	x, y := textAt(a, "kind"), textAt(b, "kind")
	return x == "" || y == "" || x == y
}

// keys are the keys of a mapping with their values.
func keys(n *yaml.Node, visit func(key, value *yaml.Node)) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		visit(n.Content[i], n.Content[i+1])
	}
}

// texts are the scalars of a list, or the one scalar that stands for a list.
func texts(n *yaml.Node) []string {
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
