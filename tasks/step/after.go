package step

import (
	"context"
	"sync"
)

// AfterFunc is context.AfterFunc whose stop waits for an f that has begun: f does not outlive whoever stops it. f must
// not call stop.
func AfterFunc(ctx context.Context, f func()) (stop func()) {
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(done)
		f()
	})
	return sync.OnceFunc(func() {
		if !cancel() {
			<-done
		}
	})
}
