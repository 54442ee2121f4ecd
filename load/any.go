package load

import (
	"math"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// any returns v as JSON knows it: maps, lists, text, numbers, truth values. What JSON has no word for stays text.
func (v value) any() any {
	switch {
	case !v.set():
		return nil
	case v.isReference():
		return v.secretText()
	case v.is(yaml.MappingNode):
		out := map[string]any{}
		for _, e := range v.fields().entries {
			out[e.key] = e.value.any()
		}
		return out
	case v.is(yaml.SequenceNode):
		out := make([]any, 0, len(v.node.Content))
		for _, i := range v.items() {
			out = append(out, i.any())
		}
		return out
	default:
		return scalar(v.node)
	}
}

func scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!bool":
		if b, err := strconv.ParseBool(n.Value); err == nil {
			return b
		}
	case "!!int":
		if x, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			return x
		}
	case "!!float":
		if x, err := strconv.ParseFloat(n.Value, 64); err == nil && !math.IsInf(x, 0) && !math.IsNaN(x) {
			return x
		}
	}
	return n.Value
}

// anyMap is any for a value that must be a mapping.
func (v value) anyMap() map[string]any {
	v.fields() // reports what is no map
	m, _ := v.any().(map[string]any)
	if len(m) == 0 {
		return nil
	}
	return m
}
