// Package realtime gives one thread of a process real-time behaviour, as far as an unprivileged program can. It must
// not know what the thread does.
package realtime
