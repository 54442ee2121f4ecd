// Package release ends runs: it waits until nothing of a run is left on its target, deletes what is left over, lets the
// Task finish run where Tekton did not, and only then says that the run is released, which gives its quota back. What
// decides is read past every cache. It must not know Kueue's job framework.
package release
