// Package faults holds, for every kind of misbehaviour that the simulated engine knows, what a person gets to see:
// status and error class of a request, verdict and exit code of the run. docs/faults.md is printed from it, and the
// tests run each row through the whole product.
package faults

//go:generate go test . -run TestTheTableIsPrinted -update
