// Package truth compares what a client says with what the engine logged, and judges series of arrivals. All times are
// CLOCK_MONOTONIC in nanoseconds. It must not start anything, nor know a goal.
package truth
