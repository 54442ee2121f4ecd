// Package timing turns what the steps of the checks took, and the output of `go test -json`, into a table and a file that two
// runs can be compared by. It must not know which steps there are.
package timing
