package load

import (
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/load/tool"
)

// List is a value or a list of values. A list here is never an axis of a matrix.
type List[T any] = shape.List[T]

// Count is a number, or a multiple of the stage's load value, as written.
type Count = tool.Count

// Skip is the part of a stage's start or end that is not measured, as written.
type Skip = tool.Skip

// SkipForm is the long form of Skip.
type SkipForm = tool.SkipForm

// Object is a free mapping in the words of another tool or API. Node keeps keys, order and positions; nil = not set.
type Object struct {
	Node *yaml.Node
}

// IsZero reports whether the file has no such object.
func (o Object) IsZero() bool { return o.Node == nil }

// MarshalJSON writes the mapping as JSON, null when it is not set.
func (o Object) MarshalJSON() ([]byte, error) {
	if o.Node == nil {
		return []byte("null"), nil
	}
	value, err := o.Value()
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// Value returns the mapping as Go values, as YAML reads them. An object that is not set is nil.
func (o Object) Value() (map[string]any, error) {
	if o.Node == nil {
		return nil, nil
	}
	var out map[string]any
	if err := o.Node.Decode(&out); err != nil {
		return nil, err
	}
	return out, nil
}
