// Package engine models the timing of the simulated engine as a discrete-event function of a clock: when each request
// gets its next tokens. It must not read a clock, start a goroutine or do I/O, so that a test runs hours in
// milliseconds. All times are nanoseconds on one monotonic axis.
package engine
