package keeper_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bflow.dev/bflow/queue/lock/keeper"
	"bflow.dev/bflow/queue/target"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestStartReturnsWhenNoKeeperWorksAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		var asking atomic.Int64
		slow := interceptor.NewClient(l.target, interceptor.Funcs{
			Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object,
				_ ...client.GetOption) error {
				asking.Add(1)
				defer asking.Add(-1)
				<-ctx.Done()
				time.Sleep(time.Second) // until it has noticed
				return ctx.Err()
			},
		})
		h := l.hub("a", 0) // for its client
		defer h.stop()
		k := keeper.New(keeper.Options{Hub: "b", Targets: target.NewRegistry(target.Target{Name: "lab", Live: slow}),
			Cache: h.cache, Live: h.client, Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{}})
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		if err := k.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if n := asking.Load(); n != 0 {
			t.Errorf("%d requests go on", n)
		}
		if _, err := k.Door(t.Context(), "other", nil); err != nil { // makes a keeper, which must not begin
			t.Fatal(err)
		}
	})
}
