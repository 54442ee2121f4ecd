// Package truth compares the results of a client with the log of the engine, and analyses series of arrivals. All
// times are CLOCK_MONOTONIC in nanoseconds. It must not start processes or know any goal.
package truth
