// Package progress shows the progress of runs on a terminal or in a log: one line per finished task, and on a
// terminal one bar per running stage. It reads the progress that load-gen writes, or is given events, and must not
// influence a run.
package progress
