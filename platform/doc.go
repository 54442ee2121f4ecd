// Package platform says how model servers are deployed. A platform is one file with data and pure functions, and a line
// in registry.go: its part of a DeploymentProfile, of plans and of what identifies them, its objects, and how they are
// found, awaited and removed. docs/extend.md shows an example.
//
// Nothing here acts on a cluster: package tasks/provision does. It must import neither client-go nor the generator, and
// load-gen must not link it.
package platform
