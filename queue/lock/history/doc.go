// Package history records what happened to the locks of targets as events, which controllers write to their logs and
// the model test of package lock produces, and checks them: never two setup keys in use at once on a target, never
// more than the quota, and fences that only grow. It knows no cluster.
package history
