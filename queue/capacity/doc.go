// Package capacity keeps the quota of a queue in step with the capacity of its target: it is the only writer of
// spec.resourceGroups of a target's ClusterQueue, because that list can have only one writer.
//
// It must not admit or evict anything: Kueue does that, from the quota.
package capacity
