// Package apply writes a set of objects to a cluster with server-side apply, in phases and under one field manager,
// and waits until they are ready. It must not know the purpose of the objects: its rules go by kind, never by name.
package apply
