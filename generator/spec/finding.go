package spec

import (
	"fmt"

	"bflow.dev/bflow/internal/problem"
)

// Finding is a broken rule that concerns more than one field. Path is relative to the value that was checked, so that
// the same rule serves a file and a resolved point.
type Finding struct {
	Path    string
	Text    string
	Warning bool
}

// findings collects.
type findings []Finding

func (f *findings) add(path, format string, args ...any) {
	*f = append(*f, Finding{Path: path, Text: fmt.Sprintf(format, args...)})
}

func (f *findings) warn(path, format string, args ...any) {
	*f = append(*f, Finding{Path: path, Text: fmt.Sprintf(format, args...), Warning: true})
}

// under adds what other found, with prefix before its paths.
func (f *findings) under(prefix string, other findings) {
	for _, one := range other {
		one.Path = join(prefix, one.Path)
		*f = append(*f, one)
	}
}

// join puts a relative path behind prefix.
func join(prefix, path string) string {
	if prefix == "" || path == "" || path[0] == '[' {
		return prefix + path
	}
	return prefix + "." + path
}

// problems places findings in the document.
func (d *Doc) problems(prefix string, all findings) problem.List {
	var out problem.List
	for _, f := range all {
		p := d.Problem(join(prefix, f.Path), "%s", f.Text)
		p.Warning = f.Warning
		out.Add(p)
	}
	return out
}
