package queue

import (
	"cmp"
	"context"
	"sync"
	"time"

	"bflow.dev/bflow/queue/run"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/kueue/pkg/util/heap"
)

// oldestFirst hands runs to the intake by age, and puts those that wait into its line. After a start the cache tells of
// all runs by name, and Kueue admits in the order in which Workloads are made. Whatever else is asked for goes before a
// run that is asked for by age.
type oldestFirst struct{ line *line }

var _ handler.EventHandler = oldestFirst{}

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

func (o oldestFirst) Create(_ context.Context, e event.CreateEvent, q requests) { o.add(q, e.Object) }

func (o oldestFirst) Update(_ context.Context, e event.UpdateEvent, q requests) {
	o.add(q, e.ObjectNew)
}

func (o oldestFirst) Delete(_ context.Context, e event.DeleteEvent, q requests) {
	o.line.leave(e.Object.GetUID())
	ask(q, e.Object)
}

func (o oldestFirst) Generic(_ context.Context, e event.GenericEvent, q requests) { o.add(q, e.Object) }

// in does the same for all runs of a namespace that becomes one of runs.
func (o oldestFirst) in(c client.Reader) handler.EventHandler {
	all := func(ctx context.Context, namespace client.Object, q requests) {
		var runs tektonv1.PipelineRunList
		if err := c.List(ctx, &runs, client.InNamespace(namespace.GetName()), client.UnsafeDisableDeepCopy); err != nil {
			return // the cache of runs is not filled yet: it tells of each
		}
		for i := range runs.Items {
			o.add(q, &runs.Items[i])
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) { all(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) { all(ctx, e.ObjectNew, q) },
	}
}

func (o oldestFirst) add(q requests, object client.Object) {
	if pr, ok := object.(*tektonv1.PipelineRun); ok && waits(pr) && run.Queue(pr) != "" {
		o.line.join(pr)
	}
	ask(q, object)
}

func ask(q requests, o client.Object) {
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
	entryInterval    = time.Second      // Kueue orders Workloads by a time of whole seconds, and equals by chance
	strictOrderLimit = time.Minute      // how long a run may wait for a second of its own
	firstInLineGrace = 10 * time.Second // for the first in the line, which all others wait for
)

// line is the order in which runs that wait enter their queues: that in which they were made, one in a second. Where
// so many come that one has waited for a minute, those that were made in the same second enter together.
//
// It has every run that the cache has told of and that may be without a Workload, so that it does not matter whose
// turn it is to be looked at: a run whose Workload could not be made keeps its place, and in a process that has just
// begun to lead everybody has one. What holds up a run alone puts it out of the line.
type line struct {
	mu      sync.Mutex
	waiting *heap.Heap[place, types.UID]
	out     map[types.UID]bool // runs that nobody waits for
	last    int64              // second in which the last run that entered was made
	next    time.Time          // when the next may enter; zero for a line in which nobody has asked yet
}

// place is that of a run in the line.
type place struct {
	types.NamespacedName
	id      types.UID
	made    int64
	version string    // when it was first seen: runs of one second are in the order of their versions
	first   time.Time // since when it is the first, and others wait for it
}

func newLine() *line {
	return &line{
		waiting: heap.New(func(p *place) types.UID { return p.id }, func(a, b *place) bool { return a.compare(b) < 0 }),
		out:     map[types.UID]bool{},
	}
}

func (p *place) compare(o *place) int {
	versions, err := resourceversion.CompareResourceVersion(p.version, o.version)
	if err != nil {
		versions = cmp.Compare(p.version, o.version)
	}
	return cmp.Or(cmp.Compare(p.made, o.made), versions, cmp.Compare(p.id, o.id))
}

func placeOf(pr *tektonv1.PipelineRun) *place {
	return &place{NamespacedName: client.ObjectKeyFromObject(pr), id: pr.UID, made: pr.CreationTimestamp.Unix(),
		version: pr.ResourceVersion}
}

// join gives a run its place, unless it has one or lost it.
func (l *line) join(pr *tektonv1.PipelineRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.out[pr.UID] {
		l.waiting.PushIfNotPresent(placeOf(pr))
	}
}

// stepOut takes a run out of the line for as long as it waits. It may enter, but nobody waits for it.
func (l *line) stepOut(id types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting.Delete(id)
	l.out[id] = true
}

// leave forgets a run that waits no more.
func (l *line) leave(id types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(id)
}

func (l *line) forget(id types.UID) {
	l.waiting.Delete(id)
	delete(l.out, id)
}

// noteEntry notes that the Workload of a run was made by now. From then on the next second counts, whatever the clock
// of the API server says.
func (l *line) noteEntry(pr *tektonv1.PipelineRun, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(pr.UID)
	l.last, l.next = max(l.last, pr.CreationTimestamp.Unix()), now.Add(entryInterval)
}

// entering says, by the cache, whether a run still is to enter its queue.
type entering func(types.NamespacedName, types.UID) (bool, error)

// turn says whether the Workload of a run may be made now; if not, after how long to ask again.
func (l *line) turn(pr *tektonv1.PipelineRun, now time.Time, enters entering) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next.IsZero() { // the leader before may have let one enter just now
		l.next = now.Add(entryInterval)
	}
	if !l.out[pr.UID] {
		l.waiting.PushIfNotPresent(placeOf(pr))
	}
	me := l.waiting.GetByKey(pr.UID)
	if me == nil {
		me = placeOf(pr)
	}
	many := now.Sub(pr.CreationTimestamp.Time) > strictOrderLimit
	before, err := l.someoneBefore(me, many, now, enters)
	switch {
	case err != nil:
		return 0, err
	case before:
		return entryInterval, nil
	case now.Before(l.next) && (!many || l.last < me.made):
		return l.next.Sub(now), nil
	}
	return 0, nil
}

// someoneBefore says whether another run must enter first. Whoever is not about to is passed over.
func (l *line) someoneBefore(me *place, many bool, now time.Time, enters entering) (bool, error) {
	for l.waiting.Len() > 0 {
		first := l.waiting.Pop()
		if first.id == me.id || first.compare(me) > 0 || many && first.made == me.made {
			l.waiting.PushOrUpdate(first)
			return false, nil
		}
		if first.first.IsZero() {
			first.first = now
			if now.Before(l.next) {
				first.first = l.next
			}
		}
		still, err := enters(first.NamespacedName, first.id)
		switch {
		case err != nil:
			l.waiting.PushOrUpdate(first)
			return false, err
		case still && now.Sub(first.first) <= firstInLineGrace:
			l.waiting.PushOrUpdate(first)
			return true, nil
		case still:
			l.out[first.id] = true
		}
	}
	return false, nil
}
