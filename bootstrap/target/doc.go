// Package target makes a cluster a target of a hub and takes that away again: the namespaces, accounts and rights that
// runs need there, and the first token of the hub. It works as the person who adds the target, whose credentials it
// keeps nowhere. It must not know the hub, nor runs.
package target
