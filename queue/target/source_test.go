package target_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"bflow.dev/bflow/queue/target"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

func TestAControllerHandlesWhatChangedBeforeItStartedToo(t *testing.T) {
	itself := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
	})
	for name, on := range map[string]func(*target.Registry) (source.Source, func(string)){
		"changes":  func(r *target.Registry) (source.Source, func(string)) { return r.OnChange(itself), r.Tell },
		"renewals": func(r *target.Registry) (source.Source, func(string)) { return r.OnRenewal(itself), r.Renew },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				events, tell := on(target.NewRegistry())
				tell("before")
				q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
				defer q.ShutDown()
				ctx, stop := context.WithCancel(t.Context())
				if err := events.Start(ctx, q); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				tell("while")
				synctest.Wait()
				stop()
				synctest.Wait() // the bubble ends only when nobody handles any more
				tell("after")
				synctest.Wait()
				var asked []string
				for q.Len() > 0 {
					request, _ := q.Get()
					asked = append(asked, request.Name)
				}
				if !slices.Equal(asked, []string{"before", "while"}) {
					t.Errorf("asked for %q", asked)
				}
			})
		})
	}
}
