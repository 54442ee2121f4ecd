package tool

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

// isWithinLimits reports a block that is too deep, too large, or holds too long a list.
func isWithinLimits(v Value) bool {
	left := MaxNodes
	return measure(v, v.Node, 0, &left)
}

func measure(v Value, n *yaml.Node, depth int, left *int) bool {
	for n != nil && n.Kind == yaml.AliasNode && depth <= MaxDepth {
		n, depth = n.Alias, depth+1
	}
	if n == nil {
		return true
	}
	*left--
	switch {
	case depth > MaxDepth:
		v.Errorf("nested deeper than %d levels", MaxDepth)
		return false
	case *left < 0:
		v.Errorf("holds more than %d values after aliases", MaxNodes)
		return false
	case n.Kind == yaml.SequenceNode && len(n.Content) > MaxList:
		v.At(n, v.Path).Errorf("a list of %d entries: the limit is %d", len(n.Content), MaxList)
		return false
	}
	for _, c := range n.Content {
		if !measure(v, c, depth+1, left) {
			return false
		}
	}
	return true
}

// reportHoles reports what nothing has filled in below v, which is within the limits.
func reportHoles(v Value) {
	switch {
	case v.Is(yaml.MappingNode):
		for i := 0; i+1 < len(v.Node.Content); i += 2 {
			reportHoles(v.At(v.Node.Content[i+1], Join(v.Path, v.Node.Content[i].Value)))
		}
	case v.Is(yaml.SequenceNode):
		for i, c := range v.Node.Content {
			reportHoles(v.At(c, fmt.Sprintf("%s[%d]", v.Path, i)))
		}
	case v.IsSet():
		if hole := problem.Unfilled(v.Node.Value, false); hole != "" {
			v.Errorf("%s", hole)
		}
	}
}
