// Package timing turns the durations of the check steps and the output of `go test -json` into a table, and into a
// file to compare two runs by. It must not know which steps exist.
package timing
