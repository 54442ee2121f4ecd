// Package wire implements the wire format of the simulated engine: it parses HTTP/1.1 requests and JSON bodies, and
// writes JSON bodies and server-sent events. It must not know connections, faults or time.
package wire
