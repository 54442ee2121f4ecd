package problem

import "fmt"

// Finding is a broken rule that concerns more than one field. Path is relative to the value that was checked, so that
// the same rule serves a file and a resolved point.
type Finding struct {
	Path    string
	Text    string
	Warning bool
}

// Findings collects.
type Findings []Finding

// Add adds an error at path.
func (f *Findings) Add(path, format string, args ...any) {
	*f = append(*f, Finding{Path: path, Text: fmt.Sprintf(format, args...)})
}

// Warn adds a warning at path.
func (f *Findings) Warn(path, format string, args ...any) {
	*f = append(*f, Finding{Path: path, Text: fmt.Sprintf(format, args...), Warning: true})
}

// Under adds what other found, with prefix before its paths.
func (f *Findings) Under(prefix string, other Findings) {
	for _, one := range other {
		one.Path = Join(prefix, one.Path)
		*f = append(*f, one)
	}
}

// Join puts a relative path behind prefix.
func Join(prefix, path string) string {
	if prefix == "" || path == "" || path[0] == '[' {
		return prefix + path
	}
	return prefix + "." + path
}
