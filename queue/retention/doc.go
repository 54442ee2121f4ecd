// Package retention deletes what ended runs have left, each after its retention period: pods of tasks, volumes, whole
// runs and matrices. Results are deleted only after they are stored elsewhere: fetched to somebody's machine, pushed
// to MLflow, or gathered on the volume of their matrix.
//
// It must not touch a run that is not at its end, and nothing that belongs to no run. What runs leave on targets by mistake
// is the business of package gc.
package retention
