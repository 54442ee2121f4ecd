// Package target sets a cluster up as a target of a hub, and removes that setup: the namespaces, service accounts and
// RBAC that runs need there, and the first token of the hub. It uses the credentials of the person who adds the
// target and stores them nowhere. It must not know the hub or runs.
package target
