// Package choose selects the checks that a change can break: those whose test binary or programs are built from, or
// read, a file that differs from a commit at which all checks passed. The dependencies of a check come from `go
// list`, never from a list kept by hand; where they are unknown, every check is selected.
//
// It knows Go packages and file names. It must not know what a check tests or how it is run.
package choose
