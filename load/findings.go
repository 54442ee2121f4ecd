package load

import (
	"fmt"
	"slices"

	"bflow.dev/bflow/internal/problem"
)

// findings is what one translation has to say.
type findings struct {
	problems problem.List
	notes    []string // for the plan, without positions
	external []value  // what only the real tool can do
	endless  []value  // stages without a bound
	lenient  bool
}

// add keeps the first problem of a place: a block is read once per stage where it holds templates, and what
// follows from a mistake is no second one.
func (f *findings) add(p problem.Problem) {
	same := func(o problem.Problem) bool {
		return o.File == p.File && o.Line == p.Line && o.Column == p.Column && o.Path == p.Path && o.Warning == p.Warning
	}
	if p.Line == 0 || !slices.ContainsFunc(f.problems, same) {
		f.problems.Add(p)
	}
}

// errorf reports an error at v.
func (v value) errorf(format string, args ...any) {
	v.add(problem.At(v.file, v.node, v.path, format, args...))
}

// notef warns, and leaves a trace in the plan.
func (v value) notef(format string, args ...any) {
	p := problem.At(v.file, v.node, v.path, format, args...)
	p.Warning = true
	v.add(p)
	if line := v.path + ": " + p.Text; !slices.Contains(v.notes, line) {
		v.notes = append(v.notes, line)
	}
}

// needsTool records that v is beyond the native generator: why says what it asks for.
func (v value) needsTool(format string, args ...any) {
	if !slices.ContainsFunc(v.external, func(o value) bool { return o.path == v.path }) {
		v.why = fmt.Sprintf(format, args...)
		v.external = append(v.external, v)
	}
}
