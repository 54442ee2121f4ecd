// Package ends holds the one table of how a run can end: its verdict, its exit code and its message, for a local run,
// the points of a matrix, an import, and commands that read a finished run. The detailed effect of each server fault
// is in e2e/faults.
package ends
