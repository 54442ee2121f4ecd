// Package plan turns an experiment and its profiles into RunPlans: one per point of the matrix, nothing left to
// look up. It is pure: no socket, no process, no clock, and it asks no registry. It knows nothing of Tekton.
package plan
