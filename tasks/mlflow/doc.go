// Package mlflow pushes a run to an MLflow tracking server and makes sure that it is all there.
//
// A push is a Replay: everything that will be sent, with its timestamps, fixed before the first call and kept in the run
// directory. Every call can be repeated, so a push that was cut anywhere and is done again ends like one that was not.
// The package must not compute results: it sends what load-gen and collect have written, or package partial where no
// collect came after a load generator that was killed.
package mlflow
