// Package queuetest is what tests of the queue share: an API server in memory, targets with their nodes and pods,
// runs and their Workloads. Only tests import it, and it knows no reconciler: each test adds the one that it is
// about.
package queuetest
