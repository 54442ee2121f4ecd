// Package problem describes a problem in a file that a person wrote: position, path, message. It knows nothing about
// experiments.
package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Problem is one finding. Line and Column count from 1; 0 means that there is none (a flag, a missing document).
type Problem struct {
	File    string
	Line    int
	Column  int
	Path    string // dotted, from the document's root: spec.load.stages[0].rate
	Text    string // value found, values allowed, what to do; no trailing dot
	Warning bool
}

// Error is "FILE:LINE:COL: PATH: TEXT", without the parts that are unknown.
func (p Problem) Error() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
		}
		b.WriteString(": ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// At returns a problem at node n of file.
func At(file string, n *yaml.Node, path, format string, args ...any) Problem {
	p := Problem{File: file, Path: path, Text: fmt.Sprintf(format, args...)}
	if n != nil {
		p.Line, p.Column = n.Line, n.Column
	}
	return p
}

// List collects problems. It is an error when it holds one that is not a warning: see Err.
type List []Problem

// Add appends ps.
func (l *List) Add(ps ...Problem) { *l = append(*l, ps...) }

// Sort orders by file, line, column, then text.
func (l List) Sort() {
	slices.SortStableFunc(l, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Text, b.Text))
	})
}

// Errors returns those that are not warnings.
func (l List) Errors() List { return l.filter(false) }

// Warnings returns the warnings.
func (l List) Warnings() List { return l.filter(true) }

func (l List) filter(warning bool) List {
	var out List
	for _, p := range l {
		if p.Warning == warning {
			out = append(out, p)
		}
	}
	return out
}

// Err returns the errors of l as one error, sorted, or nil when there are only warnings.
func (l List) Err() error {
	errs := l.Errors()
	if len(errs) == 0 {
		return nil
	}
	errs.Sort()
	return errs
}

// Error is one line per problem.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}
