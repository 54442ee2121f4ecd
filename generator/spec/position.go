package spec

import (
	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
)

// Doc is a document as read: anchors, aliases and merges are resolved, keys have their first spelling, and every node
// keeps its place in File.
type Doc struct {
	File string
	Root *yaml.Node // the document's mapping

	codec   *codec
	flags   []setting // --set values that are in the tree; their nodes have no line
	lenient bool
}

// Pos returns the node at a dotted path from the document's root, such as spec.model.name[1], or the nearest node
// above it. Every node knows its line and column.
func (d *Doc) Pos(path string) *yaml.Node {
	p, err := ParsePath(path)
	if err != nil {
		return d.Root
	}
	n := d.Root
	for _, seg := range p {
		next := child(n, seg)
		if next == nil {
			break
		}
		n = next
	}
	return n
}

// Problem is a problem at a dotted path of the document.
func (d *Doc) Problem(path, format string, args ...any) problem.Problem {
	n := d.Pos(path)
	p, err := ParsePath(path)
	if err != nil {
		return problem.At(d.File, n, path, format, args...)
	}
	return d.at(n, p, format, args...)
}

// Warning is a problem that leaves the document valid.
func (d *Doc) Warning(path, format string, args ...any) problem.Problem {
	p := d.Problem(path, format, args...)
	p.Warning = true
	return p
}

// at is a problem at node n of the document; a node that came from --set is named by its flag.
func (d *Doc) at(n *yaml.Node, path Path, format string, args ...any) problem.Problem {
	file := d.File
	if n != nil && n.Line == 0 {
		for _, f := range d.flags {
			if path.hasPrefix(f.path) || f.path.hasPrefix(path) {
				file = "--set " + f.text
			}
		}
	}
	return problem.At(file, n, path.String(), format, args...)
}
