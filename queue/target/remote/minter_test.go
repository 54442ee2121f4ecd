package remote

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"bflow.dev/bflow/queue/target"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestAMinterThatEndsWaitsForWhatItAsksFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, asking := 0, 0
		slow := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
			SubResourceCreate: func(ctx context.Context, _ client.Client, _ string, _, _ client.Object,
				_ ...client.SubResourceCreateOption) error {
				asked++
				asking++
				<-ctx.Done()
				time.Sleep(time.Second) // until it has noticed
				asking--
				return ctx.Err()
			},
		})
		ctx, end := context.WithCancel(t.Context())
		m := newMinter(ctx, target.Credentials{Target: "far"}, slow, clock.RealClock{})
		ask := target.Ask{Namespace: "bench", UID: "a", For: time.Hour}
		if _, err := m.Access(ask); !errors.Is(err, target.ErrNotYet) {
			t.Fatal(err)
		}
		synctest.Wait()
		end()
		m.end()
		if asked != 1 || asking != 0 {
			t.Errorf("asked %d times, %d go on", asked, asking)
		}
		time.Sleep(time.Hour)
		_, _ = m.Access(ask)
		synctest.Wait()
		if asked != 1 {
			t.Error("it asks after its end")
		}
	})
}
