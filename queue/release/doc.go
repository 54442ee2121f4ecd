// Package release ends runs: it waits until all objects of a run on its target are gone, deletes what is left, runs
// the Task finish if Tekton did not, and only then marks the run as released, which releases its quota. Decisive
// reads bypass every cache. It must not know Kueue's job framework.
package release
