// Package matrix makes the runs of a matrix: it is the controller of the CustomRun that stands in the parent of one.
// It makes them pending and in order, never more than keep the queues busy, writes down what became of each, and
// brings all of them to their end when the parent is cancelled or deleted. When they run is the queue's business, how
// they give back what they hold that of queue/release.
//
// What it knows is in the cluster: the runs that exist, and the outcomes in the status of the CustomRun. A run has a
// finalizer until its outcome is written there, so that none is made twice and none goes unseen, whenever the
// controller dies.
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
