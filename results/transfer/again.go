package transfer

import (
	"context"
	"time"
)

// Again repeats do until it succeeds or trying longer makes no sense, and returns its last error.
type Again func(ctx context.Context, do func() error) error

// Tries repeats at most n times what failed for a reason that may pass: a restart of the API server, a cut connection.
func Tries(n int, pause func(attempt int) time.Duration) Again {
	return func(ctx context.Context, do func() error) error {
		for attempt := 0; ; attempt++ {
			err := do()
			if err == nil || ctx.Err() != nil || attempt == n-1 || Lasting(err) {
				return err
			}
			select {
			case <-time.After(pause(attempt)):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// Doubling is a pause that begins with a quarter of a second.
func Doubling(attempt int) time.Duration { return 250 * time.Millisecond << min(attempt, 10) }
