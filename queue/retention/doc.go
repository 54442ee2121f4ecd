// Package retention deletes what ended runs have left, each after its retention period: pods of tasks, volumes, whole
// runs and matrices. Results are deleted only after they are stored elsewhere: fetched to somebody's machine, pushed
// to MLflow, or gathered on the volume of their matrix.
//
// It must not touch a run that has not ended, or objects that belong to no run. Package janitor handles objects that
// runs left on targets by mistake.
package retention
