package watch

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Debounce requests what of names, d after each change of an object, so that changes that come together cost one
// look: a node that fails takes many pods with it. What is requested already is requested once. Of an update only the
// newer object counts.
func Debounce(d time.Duration, of handler.MapFunc) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(ctx context.Context, o client.Object, q queue) {
		for _, request := range of(ctx, o) {
			q.AddAfter(request, d)
		}
	}
	return handler.Funcs{
		CreateFunc:  func(ctx context.Context, e event.CreateEvent, q queue) { add(ctx, e.Object, q) },
		UpdateFunc:  func(ctx context.Context, e event.UpdateEvent, q queue) { add(ctx, e.ObjectNew, q) },
		DeleteFunc:  func(ctx context.Context, e event.DeleteEvent, q queue) { add(ctx, e.Object, q) },
		GenericFunc: func(ctx context.Context, e event.GenericEvent, q queue) { add(ctx, e.Object, q) },
	}
}

// ByName requests an object by its name, or anything that has one.
func ByName(name string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: name}}}
}

// Itself requests the object that has changed, by its name alone.
func Itself(_ context.Context, o client.Object) []reconcile.Request { return ByName(o.GetName()) }

// maxBackoff is the longest time between two attempts at what fails. Most of what fails is unreachable for a while,
// and no event says when it is back; whoever needs it is to go on within a minute then.
const maxBackoff = 30 * time.Second

// Backoff spaces the attempts of a controller at what fails: longer and longer, and no longer than half a minute.
func Backoff() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, maxBackoff)
}
