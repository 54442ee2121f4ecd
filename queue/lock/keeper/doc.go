// Package keeper maintains the Lease of every target as package lock decides: it reads the Lease, checks whose pods
// are alive, and writes the Lease, in one goroutine per target and with a timeout on every request, so that an
// unreachable target delays no other. Reconcilers query a Door, which answers from memory.
//
// Permissions that it needs on a target: leases get, create, update in namespace contract.NamespaceSystem; pods list
// in all namespaces. On the hub it reads PipelineRuns and ResourceFlavors. It decides nothing.
package keeper
