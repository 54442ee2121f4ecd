package load

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
)

// Limits of a document and of a block in it. They keep an alias that holds itself from being followed for ever.
const (
	MaxDepth = 40
	MaxNodes = 10_000 // aliases expanded
	MaxList  = 1_000  // entries of a list
)

// withinLimits reports a block that is too deep, too large, or holds too long a list.
func (v value) withinLimits() bool {
	left := MaxNodes
	return v.measure(v.node, 0, &left)
}

func (v value) measure(n *yaml.Node, depth int, left *int) bool {
	for n != nil && n.Kind == yaml.AliasNode && depth <= MaxDepth {
		n, depth = n.Alias, depth+1
	}
	if n == nil {
		return true
	}
	*left--
	switch {
	case depth > MaxDepth:
		v.errorf("nested deeper than %d levels", MaxDepth)
		return false
	case *left < 0:
		v.errorf("holds more than %d values after aliases", MaxNodes)
		return false
	case n.Kind == yaml.SequenceNode && len(n.Content) > MaxList:
		v.at(n, v.path).errorf("a list of %d entries: the limit is %d", len(n.Content), MaxList)
		return false
	}
	for _, c := range n.Content {
		if !v.measure(c, depth+1, left) {
			return false
		}
	}
	return true
}

// filled reports what nothing has filled in below v, which is within the limits.
func (v value) filled() {
	switch {
	case v.is(yaml.MappingNode):
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			v.at(v.node.Content[i+1], join(v.path, v.node.Content[i].Value)).filled()
		}
	case v.is(yaml.SequenceNode):
		for i, c := range v.node.Content {
			v.at(c, fmt.Sprintf("%s[%d]", v.path, i)).filled()
		}
	case v.set():
		if hole := problem.Unfilled(v.node.Value, false); hole != "" {
			v.errorf("%s", hole)
		}
	}
}
