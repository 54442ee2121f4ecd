// Package loadgen is the task that puts load on a server and writes down what it did: rows, stages and distributions
// of one measurement of a RunPlan. Three parts stay apart: schedule computes when requests are sent, client puts one
// request and stamps its answer, record keeps outcomes and makes numbers of them. This package connects them. It must
// not judge a run: a bad measurement is data.
package loadgen
