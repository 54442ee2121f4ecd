// Package keeper keeps the Lease of every target as package lock decides: it reads it, looks whose pods are alive,
// and writes it, for each target in a goroutine of its own and with a bound on every request, so that a target which
// does not answer delays no other. Who judges runs asks a Door, which answers from memory.
//
// What it asks of a target, in namespace contract.NamespaceSystem: leases get, create, update; and of the whole
// cluster: pods list. Of the hub it reads PipelineRuns and ResourceFlavors. It decides nothing.
package keeper
