package load

import (
	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/scalar"
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
		return scalar.Free(v.node)
	}
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
