// Package choose tells which rows of the checks a change can break: those whose test binary or programs are built from, or
// read, a file that differs from a commit at which all of them passed. What a row uses is what `go list` says, never a list
// kept by hand; where it cannot know, every row is chosen.
//
// It knows Go packages and file names. It must not know what a row tests or how it is run.
package choose
