// Package capacity keeps what a queue may promise in step with what its target has: it is the only writer of
// spec.resourceGroups of the ClusterQueue of a target, since that list can have one writer only.
//
// It must not admit or evict anything: Kueue does, from what stands there.
package capacity
