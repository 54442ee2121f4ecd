package queue

import (
	"context"
	"maps"
	"sync"
	"time"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// oldestFirst hands runs to the intake by age. After a start the cache tells of all runs by name, and Kueue admits in the
// order in which Workloads are made. Whatever else is asked for goes before a run that is asked for by age.
type oldestFirst struct{}

var _ handler.EventHandler = oldestFirst{}

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

func (oldestFirst) Create(_ context.Context, e event.CreateEvent, q requests) { add(q, e.Object) }

func (oldestFirst) Update(_ context.Context, e event.UpdateEvent, q requests) { add(q, e.ObjectNew) }

func (oldestFirst) Delete(_ context.Context, e event.DeleteEvent, q requests) { add(q, e.Object) }

func (oldestFirst) Generic(_ context.Context, e event.GenericEvent, q requests) { add(q, e.Object) }

// oldestFirstIn does the same for all runs of a namespace that becomes one of runs.
func oldestFirstIn(c client.Reader) handler.EventHandler {
	all := func(ctx context.Context, namespace client.Object, q requests) {
		var runs tektonv1.PipelineRunList
		if err := c.List(ctx, &runs, client.InNamespace(namespace.GetName()), client.UnsafeDisableDeepCopy); err != nil {
			return // the cache of runs is not filled yet: it tells of each
		}
		for i := range runs.Items {
			add(q, &runs.Items[i])
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) { all(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) { all(ctx, e.ObjectNew, q) },
	}
}

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

const (
	strictFor = time.Minute     // how long a run may wait for a second of its own
	forgotten = 3 * time.Second // after which a run that does not come again is taken for gone
)

// turnstile lets runs into the queue in the order in which they were made, one in a second: Kueue orders by a time of
// whole seconds, and equals by chance. Where so many come that one has waited for a minute, those that were made in the
// same second pass together.
type turnstile struct {
	mu      sync.Mutex
	run     int64 // second in which the last run that passed was made
	through int64 // second in which it passed
	arrived int
	waiting map[types.UID]visitor
}

type visitor struct {
	made    int64
	arrived int
	seen    time.Time
}

// pass says whether the Workload of a run made then may be made now; if not, after how long to ask again.
func (t *turnstile) pass(id types.UID, made, now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	me := t.admit(id, made, now)
	many := now.Sub(made) > strictFor
	if t.through == now.Unix() && (!many || t.run < me.made) || t.someoneBefore(me, many) {
		return now.Truncate(time.Second).Add(time.Second).Sub(now)
	}
	delete(t.waiting, id)
	t.run, t.through = max(t.run, me.made), now.Unix()
	return 0
}

// admit writes the visitor down, and forgets those that do not come again: they were cancelled or deleted.
func (t *turnstile) admit(id types.UID, made, now time.Time) visitor {
	if t.waiting == nil {
		t.waiting = map[types.UID]visitor{}
	}
	me, known := t.waiting[id]
	if !known {
		t.arrived++
		me = visitor{made: made.Unix(), arrived: t.arrived}
	}
	me.seen = now
	t.waiting[id] = me
	maps.DeleteFunc(t.waiting, func(_ types.UID, v visitor) bool { return now.Sub(v.seen) > forgotten })
	return me
}

func (t *turnstile) someoneBefore(me visitor, many bool) bool {
	for _, v := range t.waiting {
		if v.made < me.made || !many && v.made == me.made && v.arrived < me.arrived {
			return true
		}
	}
	return false
}
