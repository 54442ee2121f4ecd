package matrix

import (
	"time"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
)

// Compiler reads the points of matrices, which it has compiled. The main of the controller provides it, so that the
// queue does not know the generator.
type Compiler interface {
	// NewPoints begins to read the points of a matrix, whose root digest is root.
	NewPoints(root string) Points
	// ChildName is the name of the run of point n, from 1, of a matrix.
	ChildName(parent string, n int) string
}

// Points are the points of one matrix. They are read with Add and Close; only then anything else may be asked for.
type Points interface {
	// Add reads the next of the ConfigMaps that hold them, in their order.
	Add(cm *corev1.ConfigMap) error
	// Close checks that all of them are there and unchanged.
	Close() error
	Len() int
	// Lane names the queue of the run of point i, from 0: runs of one lane wait for each other.
	Lane(i int) string
	// Expected is how long the load of point i takes, 0 where that is not known.
	Expected(i int) time.Duration
	// Child returns the plan of point i and its run, as they were compiled.
	Child(i int) (*corev1.ConfigMap, *tektonv1.PipelineRun, error)
}

// about is what is known of a point without unpacking it.
type about struct {
	lane     string
	expected time.Duration // of the load; 0 = not known
}
