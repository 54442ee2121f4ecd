package tool

import (
	"fmt"
	"slices"

	"bflow.dev/bflow/internal/problem"
)

// What readers of several tools say.
const (
	SetByRunner       = "is set by the runner: the value here has no effect"
	CountedByServer   = "tokens are counted by the server here"
	ImagesWithoutChat = "images in a request that is no chat"
)

// findings is what one translation has to say.
type findings struct {
	problems problem.List
	notes    []string // for the plan, without positions
	external []Value  // what only the real tool can do
	endless  []Value  // stages without a bound
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

// Errorf reports an error at v.
func (v Value) Errorf(format string, args ...any) {
	v.add(problem.At(v.file, v.Node, v.Path, format, args...))
}

// Notef warns, and leaves a trace in the plan.
func (v Value) Notef(format string, args ...any) {
	p := problem.At(v.file, v.Node, v.Path, format, args...)
	p.Warning = true
	v.add(p)
	if line := v.Path + ": " + p.Text; !slices.Contains(v.notes, line) {
		v.notes = append(v.notes, line)
	}
}

// NeedsTool records that v is beyond the native generator: why says what it asks for.
func (v Value) NeedsTool(format string, args ...any) {
	if !slices.ContainsFunc(v.external, func(o Value) bool { return o.Path == v.Path }) {
		v.why = fmt.Sprintf(format, args...)
		v.external = append(v.external, v)
	}
}

// KnownToTool records that only the real tool knows the key name, which holds v.
func (v Value) KnownToTool(name string) { v.NeedsTool("%q is known to the real tool only", name) }

// NotTheDefault records that the native generator has key name only as the tool has it by default.
func (v Value) NotTheDefault(name string) {
	v.NeedsTool("%q other than the tool's default is known to the real tool only", name)
}

// OtherKind leaves a word that is not native to the real tool, unless it is one of the native ones misspelt.
func (v Value) OtherKind(what string, native ...string) {
	if near := problem.Closest(v.Text(), native, 1); len(near) > 0 {
		v.Errorf("unknown %s %q (did you mean %q?)", what, v.Text(), near[0])
		return
	}
	v.NeedsTool("%s %q", what, v.Text())
}
