// Package retention lets go what ended runs have left, each after its time: pods of tasks, volumes, whole runs and
// matrices. What holds results goes only once they are somewhere else as well: fetched to the machine of a person,
// pushed to MLflow, or gathered on the volume of their matrix.
//
// It must not touch a run that is not at its end, and nothing that belongs to no run. What runs leave on targets by
// mistake is the business of package gc.
package retention
