// Package plan turns an experiment and its profiles into RunPlans: one per point of the matrix, with every value
// resolved. It is pure: it opens no socket, runs no process, reads no clock and queries no registry. It knows nothing
// of Tekton.
package plan
