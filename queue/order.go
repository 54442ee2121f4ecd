package queue

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// oldestFirst hands runs to the reconciler by age. After a start the cache tells of all runs by name, and Kueue admits
// in the order in which Workloads are made.
type oldestFirst struct{}

var _ handler.EventHandler = oldestFirst{}

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

func (oldestFirst) Create(_ context.Context, e event.CreateEvent, q requests) { add(q, e.Object) }

func (oldestFirst) Update(_ context.Context, e event.UpdateEvent, q requests) { add(q, e.ObjectNew) }

func (oldestFirst) Delete(_ context.Context, e event.DeleteEvent, q requests) { add(q, e.Object) }

func (oldestFirst) Generic(_ context.Context, e event.GenericEvent, q requests) { add(q, e.Object) }

func add(q requests, o client.Object) {
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
	ordered, ok := q.(priorityqueue.PriorityQueue[reconcile.Request])
	if !ok {
		q.Add(request)
		return
	}
	priority := -int(o.GetCreationTimestamp().Unix())
	ordered.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, request)
}

// turnstile keeps the Workloads of runs that were made in different seconds in different seconds: Kueue orders by a
// time of whole seconds, and equals by chance.
type turnstile struct {
	mu      sync.Mutex
	run     int64 // second in which the last run that passed was made
	through int64 // second in which it passed
}

// pass says whether the Workload of a run made then may be made now; if not, after how long.
func (t *turnstile) pass(made, now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.through == now.Unix() && t.run < made.Unix() {
		return now.Truncate(time.Second).Add(time.Second).Sub(now)
	}
	t.run, t.through = max(t.run, made.Unix()), now.Unix()
	return 0
}
