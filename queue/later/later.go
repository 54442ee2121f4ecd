// Package later debounces reconciliation: it delays a request after a change, so that a burst of changes costs one
// reconciliation (a node that fails takes many pods with it). It also backs off after failures. It must not know what
// a change means.
package later

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Handler asks for what of names, d after each change of an object. What is asked for already is asked for once. Of an
// update only the newer object is looked at.
func Handler(d time.Duration, of handler.MapFunc) handler.EventHandler {
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

// Named is the request for an object by its name, or for anything that has one.
func Named(name string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: name}}}
}

// Itself asks for the object that has changed, by its name alone.
func Itself(_ context.Context, o client.Object) []reconcile.Request { return Named(o.GetName()) }

// longestWait is the longest time between two attempts at what fails. Most of what fails is away for a while, and nobody
// tells when it is back; whoever needs it is to go on within a minute then.
const longestWait = 30 * time.Second

// Retries space the attempts of a controller at what fails: longer and longer, and no longer than half a minute.
func Retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, longestWait)
}
