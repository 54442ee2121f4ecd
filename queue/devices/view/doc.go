// Package view observes the devices of one target: its nodes, the pods that use devices, slices and claims of dynamic
// resource allocation, and whether its API server answers. Of objects it caches only the fields that it counts.
//
// Each target has a cache of its own, so that an unreachable one delays no other. It must not decide anything.
package view
