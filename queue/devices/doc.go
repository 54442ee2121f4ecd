// Package devices counts the accelerators of a cluster: which there are, of which product, on which node, who holds
// them, and whether the pods of a run would find room on single nodes.
//
// It is arithmetic over objects that somebody else has read. It must not hold a client, a clock or anything of Kueue.
package devices
