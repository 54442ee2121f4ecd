// Package apply writes a set of objects to a cluster: server-side, in phases, under one field manager, and waits until
// they work. It must not know what the objects are for: its rules are by kind, never by name.
package apply
