// Package truth recomputes the numbers of a run from its rows alone, with plain code written from the definitions of
// the metrics, and compares them with every file that the run leaves. It must not call what it checks.
package truth
