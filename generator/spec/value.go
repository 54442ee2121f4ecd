package spec

import "go.yaml.in/yaml/v3"

// Axis is a value that becomes a matrix axis when the file gives a list. One value is no axis.
type Axis[T any] []T

// Replace is a value that replaces every weaker one as a whole, the empty value included.
// Set is false where the file says nothing.
type Replace[T any] struct {
	Set   bool
	Value T
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
