package gc_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bflow.dev/bflow/queue/gc"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/target"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestStartReturnsWhenNoTargetIsLookedAtAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks, looking atomic.Int64
		slow := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
			List: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
				looks.Add(1)
				looking.Add(1)
				defer looking.Add(-1)
				<-ctx.Done()
				time.Sleep(time.Second) // until it has noticed
				return ctx.Err()
			},
		})
		counts := queuetest.Metrics(t)
		j := gc.NewCollector(gc.Options{Hub: gc.Hub{ID: mine, Cache: slow, Live: slow, Now: time.Now},
			Targets: target.NewRegistry(target.Target{Name: "a", Live: slow}), Metrics: counts,
			Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{}})
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		if err := j.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if looks.Load() == 0 || looking.Load() != 0 {
			t.Errorf("%d looks, %d go on", looks.Load(), looking.Load())
		}
	})
}
