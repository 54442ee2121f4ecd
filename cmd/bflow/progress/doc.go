// Package progress tells a person on a terminal, or a log, how far runs are: a line per finished task, and on a
// terminal a bar per running stage. It reads what load-gen
// writes about itself, or is told, and must not influence a run.
package progress
