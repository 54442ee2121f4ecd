// Package cluster is the life of runs on a cluster as a person at a command line sees it: submitted, followed,
// listed, explained, logged, cancelled, run again, deleted. It speaks with the API server through package kube, by the
// types of Tekton and Kubernetes. It must not know flags or terminals, and it never does what belongs to the
// controller: it asks for the end of a run and lets the controller bring it about.
package cluster
