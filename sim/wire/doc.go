// Package wire is the bytes of the simulated engine: HTTP/1.1 requests in, JSON bodies in, server-sent events out.
// It must not know connections, faults or time.
package wire
