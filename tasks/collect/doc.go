// Package collect builds the report of a run from its directory and judges the run. It queries Prometheus if the plan
// says so; apart from that it only reads and writes files, so that the report can be rebuilt from them alone. It must
// not connect to the server under test, which is gone by then.
package collect
