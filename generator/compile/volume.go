package compile

import (
	"bflow.dev/bflow/load/demand"
	"bflow.dev/bflow/runplan"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	gibi     = 1 << 30
	spare    = gibi        // of every volume: a file system needs some of it, and a run may write more than its plan tells
	smallest = 2 * gibi    // of a run
	largest  = 1024 * gibi // what no storage class may have is asked of none
)

// volume is the size of what holds so many bytes of results, in whole GiB.
func volume(room int64) *resource.Quantity {
	size := max(smallest, min(largest, room+spare))
	return resource.NewQuantity((size+gibi-1)/gibi*gibi, resource.BinarySI)
}

func volumeOf(plan *runplan.RunPlan) *resource.Quantity { return volume(demand.Room(plan)) }
