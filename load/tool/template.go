package tool

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/scalar"
)

var templateMark = regexp.MustCompile(`(?i)\*\s*concurrency`)

func holdsTemplate(n *yaml.Node) bool {
	if n.Kind == yaml.ScalarNode {
		return isTemplate(n)
	}
	if n.Kind == yaml.AliasNode {
		return n.Alias != nil && holdsTemplate(n.Alias)
	}
	for _, c := range n.Content {
		if holdsTemplate(c) {
			return true
		}
	}
	return false
}

// Expand returns v with every N*concurrency replaced by N times load, a rate being cut to an integer first.
// A nil load means that the stage has no load value, which is reported where a template needs one.
func (v Value) Expand(load *float64) Value {
	if v.Node == nil || !holdsTemplate(v.Node) {
		return v
	}
	v.Node = expandNode(v, v.Node, v.Path, load)
	return v
}

func expandNode(v Value, n *yaml.Node, path string, load *float64) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	out := *n
	out.Anchor = ""
	if n.Kind == yaml.ScalarNode {
		if isTemplate(n) {
			at := v
			at.Path = path
			fill(at, &out, load)
		}
		return &out
	}
	out.Content = make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		out.Content[i] = expandNode(v, c, childPath(n, path, i), load)
	}
	return &out
}

// childPath is the path of the i-th child of n, a key's path being its value's.
func childPath(n *yaml.Node, path string, i int) string {
	if n.Kind == yaml.MappingNode {
		return Join(path, n.Content[i-i%2].Value)
	}
	return fmt.Sprintf("%s[%d]", path, i)
}

func fill(at Value, n *yaml.Node, load *float64) {
	at.Node = n
	times, _, err := scalar.Multiple(n)
	switch {
	case !at.Check(err):
		n.Value = "1"
	case load == nil:
		at.Errorf("%q needs a load value: this profile has none", strings.TrimSpace(n.Value))
		n.Value = "1"
	default:
		n.Value = strconv.FormatInt(int64(times)*int64(*load), 10)
	}
	n.Tag, n.Style = "!!int", 0
}

func isTemplate(n *yaml.Node) bool {
	return strings.Contains(n.Value, "*") && templateMark.MatchString(n.Value)
}
