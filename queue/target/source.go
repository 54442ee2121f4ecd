package target

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// OnChange has a controller handle the Changes from now on: as generic events, whose object has the name of the target.
func (r *Registry) OnChange(h handler.EventHandler) source.Source { return events(r.Changes(), h) }

// OnRenewal has a controller handle the Renewals in the same way.
func (r *Registry) OnRenewal(h handler.EventHandler) source.Source { return events(r.Renewals(), h) }

func events(names <-chan []string, h handler.EventHandler) source.Source {
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		go handle(ctx, names, h, q) // it ends with the controller, which ends ctx
		return nil
	})
}

func handle(ctx context.Context, names <-chan []string, h handler.EventHandler,
	q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	for {
		select {
		case <-ctx.Done():
			return
		case changed := <-names:
			for _, name := range changed {
				obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
				h.Generic(ctx, event.GenericEvent{Object: obj}, q)
			}
		}
	}
}
