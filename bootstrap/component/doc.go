// Package component defines what bootstrap can put on a cluster, each component in a file of its own: Tekton, Kueue,
// bflow, and the optional pieces of bflow. A component says what it is called and what can be set, detects what is on
// the cluster, and renders its objects. The package must not write to a cluster, nor know the inventory.
//
// To add one, write a type with the methods of Component and name it in All. docs/extend.md shows an example.
package component
