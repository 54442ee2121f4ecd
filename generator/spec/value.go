package spec

import "go.yaml.in/yaml/v3"

// Axis is a value that becomes a matrix axis when the file gives a list. One value is no axis.
type Axis[T any] []T

// List is a value or a list of values, never an axis.
type List[T any] []T

// Replace is a value that replaces every weaker one as a whole, the empty value included.
// Set is false where the file says nothing.
type Replace[T any] struct {
	Set   bool
	Value T
}

// Object is a free mapping in the words of another tool or API. Node keeps keys, order and positions; nil = not set.
type Object struct {
	Node *yaml.Node
}

// IsZero reports whether the file has no such object.
func (o Object) IsZero() bool { return o.Node == nil }

// Count is a number, or a multiple of the stage's load value: "20*concurrency". N = 0 means not set.
type Count struct {
	N       int
	PerLoad bool
}

// Probe is a patch over a default Kubernetes probe, or off.
type Probe struct {
	Off   bool
	Patch Object
}

// Skip is the part of a stage's start or end that is not measured, as written. The zero Skip skips nothing.
type Skip struct {
	Seconds float64 // from duration text
	Number  float64 // below 1 a share, else seconds (requests where only a count bounds the stage)
	Percent float64
	Value   float64
	Mode    string // duration, requests, prefer_duration (default), prefer_requests, both
}

// AxisDecl is one entry of matrix.axes, in the order of the file.
type AxisDecl struct {
	Path   string
	Key    *yaml.Node
	Values []*yaml.Node
}

// PartialPoint holds entries "path: value" of matrix.exclude or matrix.include, in the order of the file.
type PartialPoint []Coordinate

// Coordinate fixes one path of a point.
type Coordinate struct {
	Path  string
	Key   *yaml.Node
	Value *yaml.Node
}
