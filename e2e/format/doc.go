// Package format tests that files of the benchflow.io/v1alpha1 formats mean what their description says. A row of
// testdata is a row of the description: a fragment of a file, and what the resolved plan and the compiled objects say
// of it, or the problem it has. It holds tests only, and nothing that knows how a package does it.
package format
