// Package clusterrun implements the life of runs on a cluster for a person at a command line: submit, follow, list,
// status, logs, cancel, rerun, delete. It uses plain HTTP requests to the API server, with the types of Tekton and
// Kubernetes but without generated clients. It must not know flags or terminals, and it never does the work of the
// controller: it requests the end of a run, and the controller carries it out.
package clusterrun
