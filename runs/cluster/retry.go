package cluster

import (
	"context"
	"time"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/runs"
)

// An API server may be away while a control plane is upgraded, which takes minutes.
const (
	outageTime = 5 * time.Minute
	retryPause = 2 * time.Second
)

// Retry does something again while the API server does not answer, and says so once. What it does must be of no harm
// when it is done twice.
func Retry(ctx context.Context, on runs.Console, do func(context.Context) error) error {
	end, said := time.Now().Add(outageTime), false
	return kube.Retry(ctx, retryPause, func() error { return do(ctx) }, func(err error) bool {
		again := kube.IsTransient(err) && time.Now().Before(end)
		if again && !said {
			said = true
			PrintTrouble(on, err)
		}
		return again
	})
}
