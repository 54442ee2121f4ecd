// Package devices counts the accelerators of a cluster: which devices of which product are on which node, who uses
// them, and whether the pods of a run fit on single nodes.
//
// It is arithmetic over objects that its caller has read. It must not hold a client, a clock or anything of Kueue.
package devices
