// Package collect turns what a run left in its directory into the report and judges it. It asks Prometheus where the
// plan says so; apart from that it reads and writes files, so that the report can be made again from them alone.
// It must not talk to the server under test: that is gone by then.
package collect
