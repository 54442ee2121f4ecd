package release

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// begin is when the runs of these tests ended.
func begin() time.Time { return time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC) }

// endedOn is a run that has ended on a target, and is to be released.
func endedOn(target, name string) *tektonv1.PipelineRun {
	pr := queuetest.MakeRun(name, queuetest.Identified, queuetest.OnTarget(target), queuetest.Ended(begin()),
		queuetest.Annotated(contract.AnnotationAdmitted, begin().Format(time.RFC3339)))
	pr.Finalizers = []string{contract.Finalizer}
	return pr
}

// noAccess hands nothing out that had to be taken away.
type noAccess struct{}

func (noAccess) End(context.Context, *tektonv1.PipelineRun) error { return nil }

// hub is a cluster in memory that holds runs.
func hub(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	return queuetest.Builder(t).WithObjects(objects...).Build()
}

func options(t *testing.T, targets ...target.Target) Options {
	t.Helper()
	m := queuetest.Metrics(t)
	return Options{Access: noAccess{}, Targets: target.NewRegistry(targets...), Metrics: m,
		Log: slog.New(slog.DiscardHandler), Clock: clocktesting.NewFakeClock(begin())}
}

// serve works off a queue as a controller does, until the test ends.
func serve(t *testing.T, r *Reconciler, workers int) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	t.Helper()
	q := workqueue.NewTypedRateLimitingQueue(watch.Backoff())
	if err := r.lanes.source().Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				req, over := q.Get()
				if over {
					return
				}
				if _, err := r.Reconcile(t.Context(), req); err != nil {
					q.AddRateLimited(req)
				}
				q.Done(req)
			}
		})
	}
	t.Cleanup(func() {
		q.ShutDown()
		all.Wait()
	})
	return q
}

func TestATargetThatHangsHoldsUpTheRunsOfNoOther(t *testing.T) {
	const hung = atOnce + 50 // more than there are workers
	objects := []client.Object{endedOn("well", "w")}
	for i := range hung {
		objects = append(objects, endedOn("hangs", fmt.Sprintf("h%d", i)))
	}
	c := hub(t, objects...)
	var mu sync.Mutex
	asked, most := 0, 0
	answers := make(chan struct{})
	hangs := interceptor.NewClient(c, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			mu.Lock()
			asked++
			most = max(most, asked)
			mu.Unlock()
			defer func() {
				mu.Lock()
				asked--
				mu.Unlock()
			}()
			select {
			case <-answers:
				return c.List(ctx, list, opts...)
			case <-ctx.Done():
				return errors.New("it hangs")
			}
		}})
	r := NewReconciler(c, c, events.NewFakeRecorder(10*hung),
		options(t, target.Target{Name: "hangs", Live: hangs}, target.Target{Name: "well", Live: c}))
	q := serve(t, r, atOnce)
	for _, o := range objects[1:] {
		q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
	}
	eventually.True(t, "the target hangs", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return asked == perTarget
	})
	q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(objects[0])})
	eventually.True(t, "a run of another target is released", func() bool { return released(t, c) == 1 })
	close(answers)
	eventually.True(t, "all are released once it answers", func() bool { return released(t, c) == 1+hung })
	mu.Lock()
	defer mu.Unlock()
	if most != perTarget {
		t.Errorf("%d runs of a target were looked after at a time, want %d", most, perTarget)
	}
}

func released(t *testing.T, c client.Client) (n int) {
	t.Helper()
	var list tektonv1.PipelineRunList
	if err := c.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if run.Released(&list.Items[i]) {
			n++
		}
	}
	return n
}

func TestThePlaceOfARunThatIsGoneIsTheNextOnes(t *testing.T) {
	l := newLanes()
	q := workqueue.NewTypedRateLimitingQueue(watch.Backoff())
	defer q.ShutDown()
	if err := l.source().Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	name := func(n int) ctrl.Request {
		return ctrl.Request{NamespacedName: types.NamespacedName{Name: fmt.Sprint(n)}}
	}
	for i := range perTarget {
		if !l.enter("t", name(i)) {
			t.Fatalf("there is no place for %d", i)
		}
	}
	for i := range 3 {
		for range 2 { // whoever asks twice waits once
			if l.enter("t", name(perTarget+i)) {
				t.Fatalf("%d has a place", perTarget+i)
			}
		}
	}
	l.leave("t")
	for i := range 3 {
		got, _ := q.Get()
		q.Done(got)
		if got != name(perTarget+i) {
			t.Fatalf("%v is asked for, want %v", got, name(perTarget+i))
		}
		l.skip(got)
	}
	for range perTarget - 1 {
		l.leave("t")
	}
	if q.Len() != 0 || len(l.of) != 0 || len(l.woken) != 0 {
		t.Errorf("%d are asked for, lanes %v, woken %v", q.Len(), l.of, l.woken)
	}
}
