// Package demo tests the shipped demo end to end: the records of the load generator, the log of the engine, and the
// output for people must agree on the same requests.
package demo
