// Package mlflow pushes a run to an MLflow tracking server and verifies that it arrived completely.
//
// A push is a Replay: all requests with their timestamps are fixed before the first one is sent, and stored in the
// run directory. Every request can be repeated, so that an interrupted push can be repeated with the same result. The
// package must not compute results: it sends what load-gen and collect have written, or package partial if the load
// generator was killed and collect did not run.
package mlflow
