package cluster

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestWhatNobodyTellsAnyMoreIsNotGone(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	for range 100 { // both are ready: either may be seen first
		states := make(chan state[*corev1.Pod])
		close(states)
		if _, err := untilNone(ctx, states); err == nil {
			t.Fatal("a pod of which nothing is known is gone")
		}
	}
}
