// Package history holds what happened to the lock of targets as events, written by controllers into their logs and by
// the model test of package lock, and judges them: never two setup keys in use at once on a target, never more than
// the quota, fences that grow. It knows no cluster.
package history
