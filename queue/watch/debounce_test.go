package watch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"bflow.dev/bflow/queue/watch"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func node(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func TestChangesThatComeTogetherCostOneLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer func() { q.ShutDown(); synctest.Wait() }()
		h := watch.Debounce(time.Second, watch.Itself)
		ctx := context.Background()
		h.Create(ctx, event.CreateEvent{Object: node("a")}, q)
		h.Update(ctx, event.UpdateEvent{ObjectOld: node("old"), ObjectNew: node("a")}, q)
		h.Delete(ctx, event.DeleteEvent{Object: node("a")}, q)
		h.Generic(ctx, event.GenericEvent{Object: node("b")}, q)
		synctest.Wait()
		if n := q.Len(); n != 0 {
			t.Fatalf("%d looks are due at once", n)
		}
		time.Sleep(2 * time.Second) // of this bubble
		synctest.Wait()
		seen := map[string]int{}
		for q.Len() > 0 {
			request, _ := q.Get()
			seen[request.Name]++
			q.Done(request)
		}
		if len(seen) != 2 || seen["a"] != 1 || seen["b"] != 1 {
			t.Errorf("the looks are %v, want one at a and one at b", seen)
		}
	})
}

// TestWhatFailsIsTriedAgainWithinAMinute: most of what fails comes back, and nobody tells when.
func TestWhatFailsIsTriedAgainWithinAMinute(t *testing.T) {
	retries, request := watch.Backoff(), reconcile.Request{}
	first := retries.When(request)
	for range 100 {
		if wait := retries.When(request); wait < first || wait > 30*time.Second {
			t.Fatalf("tried again after %s", wait)
		}
	}
}
