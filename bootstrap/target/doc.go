// Package target prepares a cluster as a target of a hub and removes that again: the namespaces, accounts and rights
// that runs need there, and the first token of the hub. It uses the credentials of the person who adds the target, and
// stores them nowhere. It must not know the hub, nor runs.
package target
