// Package rig starts the simulated engine and a client on dedicated CPU cores and reports the resources that each
// used. It must not know what a figure means; bench/truth and bench/goals do.
package rig
