package load

import (
	"encoding/json"
	"time"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/runplan"
)

// List is a value or a list of values. A list here is never an axis of a matrix.
type List[T any] = shape.List[T]

// Count is a number, or a multiple of the stage's load value: "20*concurrency". N = 0 means not set.
type Count struct {
	N       int
	PerLoad bool
}

// check finds a multiple of load values that a stage has not, or that comes to nothing.
func (c Count) check(loads []float64) (out problem.Findings) {
	if !c.PerLoad {
		return nil
	}
	if len(loads) == 0 {
		out.Add("", "%d*concurrency needs a load value, and there is none", c.N)
	}
	for _, x := range loads {
		if n := int64(c.N) * int64(x); n < 1 || n > runplan.MostRequests {
			out.Add("", "want 1 to %d, found %d*concurrency, which is %d at a load of %s",
				runplan.MostRequests, c.N, n, scalar.Plain(x))
			break
		}
	}
	return out
}

// of is the number at a load value, a rate being cut to an integer first.
func (c Count) of(load float64) int {
	if c.PerLoad {
		return c.N * int(load)
	}
	return c.N
}

// Skip is the part of a stage's start or end that is not measured, as written. The zero Skip skips nothing.
type Skip struct {
	Duration time.Duration // from duration text
	Number   float64       // below 1 a share, else seconds (requests where only a count bounds the stage)
	SkipForm
}

// SkipForm is the long form of Skip.
type SkipForm struct {
	Percent *float64 `json:"percent,omitempty" min:"0" max:"1" doc:"share, 0 to 1"`
	Value   *float64 `json:"value,omitempty" min:"0" doc:"seconds or requests"`
	Mode    string   `json:"mode,omitempty" enum:"duration|requests|prefer_duration|prefer_requests" implied:"prefer_duration" doc:"what it counts"`
}

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
