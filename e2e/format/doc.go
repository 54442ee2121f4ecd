// Package format tests that files of the benchflow.io/v1alpha1 formats mean what their description says. A row of
// testdata is a row of the description: a fragment of a file, with the expected plan and compiled objects, or the
// expected problem. It holds only tests, which know nothing of the implementation.
package format
