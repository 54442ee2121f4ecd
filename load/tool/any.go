package tool

import (
	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/scalar"
)

// Any returns v as JSON knows it: maps, lists, text, numbers, truth values. What JSON has no word for stays text.
func (v Value) Any() any {
	switch {
	case !v.IsSet():
		return nil
	case isReference(v):
		return secretText(v)
	case v.Is(yaml.MappingNode):
		out := map[string]any{}
		for _, e := range v.Fields().Entries {
			out[e.Key] = e.Value.Any()
		}
		return out
	case v.Is(yaml.SequenceNode):
		out := make([]any, 0, len(v.Node.Content))
		for _, i := range v.Items() {
			out = append(out, i.Any())
		}
		return out
	default:
		return scalar.Free(v.Node)
	}
}

// AnyMap is Any for a value that must be a mapping.
func (v Value) AnyMap() map[string]any {
	v.Fields() // reports what is no map
	m, _ := v.Any().(map[string]any)
	if len(m) == 0 {
		return nil
	}
	return m
}
