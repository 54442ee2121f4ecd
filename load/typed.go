package load

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/runplan"
)

// typed turns the text forms of a setting into a mapping: a bare word is its kind, "k=v,k=v" are pairs (a part
// without = continues the list before it), and JSON is JSON. Every part keeps the position of the text.
func (v value) typed() value {
	if !v.is(yaml.ScalarNode) {
		return v
	}
	s := v.text()
	switch {
	case strings.HasPrefix(s, "{"):
		return v.json(s)
	case strings.Contains(s, "="):
		return v.pairs(s)
	default:
		return v.mapping([2]string{"kind", s})
	}
}

// typedItems is typed for every entry of a list, so that templates are found in the values and not in the text.
func (v value) typedItems() value {
	if !v.is(yaml.SequenceNode) {
		return v.typed()
	}
	n := *v.node
	n.Content = nil
	for _, item := range v.items() {
		if t := item.typed(); t.set() {
			n.Content = append(n.Content, t.node)
		}
	}
	return v.at(&n, v.path)
}

func (v value) json(s string) value {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(s), &doc); err != nil || len(doc.Content) == 0 {
		v.errorf("want JSON such as {\"prompt_tokens\": 100}, found %q", s)
		return value{findings: v.findings, file: v.file, path: v.path}
	}
	left := MaxNodes
	if !v.measure(&doc, 0, &left) {
		return value{findings: v.findings, file: v.file, path: v.path}
	}
	place(&doc, v.node)
	return v.at(doc.Content[0], v.path)
}

func place(n, at *yaml.Node) {
	n.Line, n.Column = at.Line, at.Column
	for _, c := range n.Content {
		place(c, at)
	}
}

func (v value) pairs(s string) value {
	var kvs [][2]string
	for part := range strings.SplitSeq(s, ",") {
		k, val, ok := strings.Cut(part, "=")
		switch {
		case ok:
			kvs = append(kvs, [2]string{strings.TrimSpace(k), strings.TrimSpace(val)})
		case len(kvs) > 0:
			kvs[len(kvs)-1][1] += "," + strings.TrimSpace(part)
		default:
			v.errorf("want k=v,k=v, found %q", s)
		}
	}
	return v.mapping(kvs...)
}

func (v value) mapping(kvs ...[2]string) value {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: v.node.Line, Column: v.node.Column}
	for _, kv := range kvs {
		for _, text := range kv {
			c := &yaml.Node{Kind: yaml.ScalarNode, Value: text, Line: v.node.Line, Column: v.node.Column}
			if text == "" {
				c.Tag = "!!str"
			}
			n.Content = append(n.Content, c)
		}
	}
	return v.at(n, v.path)
}

// numbers reads a rate or concurrency, a list of them, or "a,b". Each must be above 0; whole says whether fractions are refused.
func (v value) numbers(whole bool) []float64 {
	var out []float64
	most := float64(runplan.MostAtOnce)
	for _, item := range v.commaItems() {
		if item.set() && item.blank() {
			item.check(scalar.Want("a number", item.node))
			continue
		}
		x := within(item, item.positive(), scalar.Range{Max: &most})
		if whole && x > 0 {
			x = float64(item.integer(1))
		}
		if x > 0 {
			out = append(out, x)
		}
	}
	if v.is(yaml.SequenceNode) && len(v.node.Content) == 0 {
		v.check(scalar.WantValues())
	}
	return out
}

// commaItems is items, with a text cut at its commas.
func (v value) commaItems() []value {
	if !v.is(yaml.ScalarNode) || !strings.Contains(v.node.Value, ",") {
		return v.items()
	}
	var out []value
	if strings.Count(v.node.Value, ",") >= MaxList {
		v.errorf("a list of more than %d entries", MaxList)
		return nil
	}
	for part := range strings.SplitSeq(v.node.Value, ",") {
		n := *v.node
		n.Value, n.Tag = strings.TrimSpace(part), ""
		if n.Value != "" {
			out = append(out, v.at(&n, v.path))
		}
	}
	return out
}
