package kube

import (
	"context"
	"time"
)

// Pause is between two tries to reach an API server that does not answer.
const Pause = time.Second

// Sleep waits for d; false where ctx ends before.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Retry does something, and again after a pause while it fails with an error that again accepts. When ctx ends it
// returns the last error.
func Retry(ctx context.Context, pause time.Duration, do func() error, again func(error) bool) error {
	for {
		err := do()
		if err == nil || ctx.Err() != nil || !again(err) || !Sleep(ctx, pause) {
			return err
		}
	}
}
