package plan

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/runplan"
)

// axis is a field of the experiment that has several values.
type axis struct {
	path   string
	values []value
	// product is how many of the values take part in the product; those after it come from matrix.include.
	product int
	place   string // where the axis is written, from the document's root
}

// value is one entry of an axis.
type value struct {
	node *yaml.Node // nil for the values of a built-in axis, which are typed already
	key  string     // equal keys mean equal values, whatever their YAML style
	data any        // what the plan records
}

func textValue(s string) value { return value{key: s, data: s} }

func intValue(i int) value { return value{key: fmt.Sprint(i), data: i} }

// nodeValue reads a node as a value.
func nodeValue(n *yaml.Node) (value, error) {
	if n.Kind == yaml.ScalarNode && (n.Tag == "!!str" || n.Tag == "!!timestamp") {
		return value{node: n, key: strings.TrimSpace(n.Value), data: n.Value}, nil
	}
	var data any
	if err := n.Decode(&data); err != nil {
		return value{}, fmt.Errorf("reading a value: %w", err)
	}
	canonical, err := runplan.Canonical(data)
	if err != nil {
		return value{}, err
	}
	return value{node: n, key: string(canonical), data: data}, nil
}

// add returns the index of v, appending it beside the product where it is new.
func (a *axis) add(v value) int {
	if i := a.find(v); i >= 0 {
		return i
	}
	a.values = append(a.values, v)
	return len(a.values) - 1
}

func (a *axis) find(v value) int {
	for i := range a.values {
		if a.values[i].key == v.key {
			return i
		}
	}
	return -1
}
