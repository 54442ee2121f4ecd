// Package truth recomputes the numbers of a run from its rows alone, with plain code written from the definitions of
// the metrics, and compares them with every file of the run. It must not call the code that it checks.
package truth
