package cluster

import (
	"context"
	"errors"
	"time"

	"bflow.dev/bflow/runs"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// An API server may be away while a control plane is upgraded, which takes minutes.
const (
	outageTime = 5 * time.Minute
	retryPause = 2 * time.Second
)

// Retry does something again while the API server does not answer, and says so once. What it does must be of no harm
// when it is done twice.
func Retry(ctx context.Context, on runs.Console, do func(context.Context) error) error {
	end := time.Now().Add(outageTime)
	for said := false; ; {
		err := do(ctx)
		if !passes(err) || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		if !said {
			said = true
			PrintTrouble(on, err)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryPause):
		}
	}
}

// passes reports whether an error is one of the moment.
func passes(err error) bool {
	var unreached *Unreachable
	return errors.As(err, &unreached) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
}
