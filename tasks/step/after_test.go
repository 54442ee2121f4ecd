package step

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestStoppingWaitsForWhatHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		done := false
		stop := AfterFunc(ctx, func() {
			time.Sleep(time.Minute)
			done = true
		})
		end()
		synctest.Wait()
		stop()
		if !done {
			t.Error("it goes on")
		}
		stop() // again does nothing
	})
}

func TestStoppingBeforeTheEndCallsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		stop := AfterFunc(ctx, func() { t.Error("it was called") })
		stop()
		end()
		synctest.Wait()
		stop()
	})
}
