package tool

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/runplan"
)

// Typed turns the text forms of a setting into a mapping: a bare word is its kind, "k=v,k=v" are pairs (a part
// without = continues the list before it), and JSON is JSON. Every part keeps the position of the text.
func (v Value) Typed() Value {
	if !v.Is(yaml.ScalarNode) {
		return v
	}
	s := v.Text()
	switch {
	case strings.HasPrefix(s, "{"):
		return parseJSON(v, s)
	case strings.Contains(s, "="):
		return parsePairs(v, s)
	default:
		return newMapping(v, [2]string{"kind", s})
	}
}

// TypedItems is Typed for every entry of a list, so that templates are found in the values and not in the text.
func (v Value) TypedItems() Value {
	if !v.Is(yaml.SequenceNode) {
		return v.Typed()
	}
	n := *v.Node
	n.Content = nil
	for _, item := range v.Items() {
		if t := item.Typed(); t.IsSet() {
			n.Content = append(n.Content, t.Node)
		}
	}
	return v.At(&n, v.Path)
}

func parseJSON(v Value, s string) Value {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(s), &doc); err != nil || len(doc.Content) == 0 {
		v.Errorf("want JSON such as {\"prompt_tokens\": 100}, found %q", s)
		return v.At(nil, v.Path)
	}
	left := MaxNodes
	if !measure(v, &doc, 0, &left) {
		return v.At(nil, v.Path)
	}
	place(&doc, v.Node)
	return v.At(doc.Content[0], v.Path)
}

func place(n, at *yaml.Node) {
	n.Line, n.Column = at.Line, at.Column
	for _, c := range n.Content {
		place(c, at)
	}
}

func parsePairs(v Value, s string) Value {
	var kvs [][2]string
	for part := range strings.SplitSeq(s, ",") {
		k, val, ok := strings.Cut(part, "=")
		switch {
		case ok:
			kvs = append(kvs, [2]string{strings.TrimSpace(k), strings.TrimSpace(val)})
		case len(kvs) > 0:
			kvs[len(kvs)-1][1] += "," + strings.TrimSpace(part)
		default:
			v.Errorf("want k=v,k=v, found %q", s)
		}
	}
	return newMapping(v, kvs...)
}

func newMapping(v Value, kvs ...[2]string) Value {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: v.Node.Line, Column: v.Node.Column}
	for _, kv := range kvs {
		for _, text := range kv {
			c := &yaml.Node{Kind: yaml.ScalarNode, Value: text, Line: v.Node.Line, Column: v.Node.Column}
			if text == "" {
				c.Tag = "!!str"
			}
			n.Content = append(n.Content, c)
		}
	}
	return v.At(n, v.Path)
}

// Numbers reads a rate or concurrency, a list of them, or "a,b". Each must be above 0; whole says whether fractions are
// refused.
func (v Value) Numbers(whole bool) []float64 {
	var out []float64
	most := float64(runplan.MostAtOnce)
	for _, item := range v.CommaItems() {
		if item.IsSet() && item.IsBlank() {
			item.Check(scalar.Want("a number", item.Node))
			continue
		}
		x := within(item, item.Positive(), scalar.Range{Max: &most})
		if whole && x > 0 {
			x = float64(item.Integer(1))
		}
		if x > 0 {
			out = append(out, x)
		}
	}
	if v.Is(yaml.SequenceNode) && len(v.Node.Content) == 0 {
		v.Check(scalar.WantValues())
	}
	return out
}

// CommaItems is Items, with a text cut at its commas.
func (v Value) CommaItems() []Value {
	if !v.Is(yaml.ScalarNode) || !strings.Contains(v.Node.Value, ",") {
		return v.Items()
	}
	var out []Value
	if strings.Count(v.Node.Value, ",") >= MaxList {
		v.Errorf("a list of more than %d entries", MaxList)
		return nil
	}
	for part := range strings.SplitSeq(v.Node.Value, ",") {
		n := *v.Node
		n.Value, n.Tag = strings.TrimSpace(part), ""
		if n.Value != "" {
			out = append(out, v.At(&n, v.Path))
		}
	}
	return out
}

// Mapping returns the mapping that a scalar stands for in a block: JSON, "k=v,k=v", or a bare word, which is its kind.
// Other nodes are returned as they are; nil where the text is no mapping.
func Mapping(n *yaml.Node) *yaml.Node {
	return Value{findings: &findings{}}.At(n, "").Typed().Node
}
