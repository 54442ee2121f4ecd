// Package view keeps the devices of one target in sight: its nodes, the pods that hold devices, slices and claims of
// dynamic resource allocation, and whether its API server answers. Of objects it keeps only what is counted.
//
// Each target has a cache of its own, so that one that is away holds up no other. It must not decide anything.
package view
