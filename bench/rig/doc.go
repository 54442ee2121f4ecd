// Package rig starts the simulated engine and a client on processor cores of their own, and says what each of them used.
// It must not know what a figure means: that is the business of bench/truth and bench/goals.
package rig
