// Package capacity is what targets have, and who uses it. It keeps what a queue may promise in step with that: it is
// the only writer of spec.resourceGroups of the ClusterQueue of a target, since that list can have one writer only.
// It writes the status of targets for bflow target list, since a person at the hub may have no access to them, and
// accounts for the devices that runs hold: how long, and what for. Quota is the measure of that, not pods: what a run
// holds nobody else can have, whether or not its engine is up already.
//
// It must not admit or evict anything: Kueue does that, from the quota.
package capacity
