// Package loadgen is the task that generates load on a server and records the results: rows, stages and distributions
// of one measurement of a RunPlan. Three parts are separate: schedule computes when requests are sent, client sends
// one request and timestamps its response, record stores outcomes and derives numbers from them. This package
// connects them. It must not judge a run: a bad measurement is data.
package loadgen
