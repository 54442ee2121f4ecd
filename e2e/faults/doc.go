// Package faults lists, for every fault that the simulated engine can produce, what a person sees: status and error
// class of a request, verdict and exit code of the run. docs/faults.md is generated from it, and the tests run each row
// through the whole product.
package faults

//go:generate go test . -run TestTheTableIsPrinted -update
