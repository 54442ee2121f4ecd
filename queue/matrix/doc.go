// Package matrix creates the runs of a matrix: it is the controller of the CustomRun in its parent. It creates runs
// pending and in order, only as many as keep the queues busy, records the outcome of each, and ends all of them when
// the parent is cancelled or deleted. The queue decides when they run, and queue/release how they release what they
// hold.
//
// Its state is in the cluster: the existing runs, and the outcomes in the status of the CustomRun. A run has a
// finalizer until its outcome is recorded there, so that no run is created twice and no outcome is missed, whenever
// the controller dies.
//
// Permissions that it needs in namespaces of runs:
//
//	tekton.dev  customruns             get list watch patch
//	tekton.dev  customruns/status      patch
//	tekton.dev  customruns/finalizers  update   (owner references that block deletion, OpenShift)
//	tekton.dev  pipelineruns           get list watch create patch
//	tekton.dev  taskruns               get create delete   (its last task)
//	""          configmaps             get create patch   (points; plans of runs)
package matrix
