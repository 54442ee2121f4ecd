package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bflow.dev/bflow/platform"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Remove deletes everything that was made for the run and returns once it is gone, pods last of all: only then are
// their devices free. It may be repeated; when ctx ends first, the error says what is left.
func (c *Cluster) Remove(ctx context.Context, run Run) error {
	var kinds []platform.Kind
	var failed error
	for _, k := range c.kinds() {
		served, err := c.removeKind(ctx, k, run.selector())
		if failed = errors.Join(failed, err); served {
			kinds = append(kinds, k)
		}
	}
	if err := errors.Join(failed, c.removeJobs(ctx, run)); err != nil {
		return err
	}
	if err := goneOf[corev1.Pod](ctx, c, pods, run.selector()); err != nil {
		return err
	}
	for _, k := range kinds {
		if !k.MakesPods {
			continue
		}
		if err := untilGone(ctx, c.sourceOf(k, run.selector()), k.Resource, run.selector()); err != nil {
			return err
		}
	}
	return nil
}

// removeJobs deletes the tasks that were left behind on a remote target, with what is their own. On the hub there are
// none, and whoever may not look for any has made none.
func (c *Cluster) removeJobs(ctx context.Context, run Run) error {
	if c.Local {
		return nil
	}
	job, _ := platform.FindKind("Job")
	if _, err := c.removeKind(ctx, job, run.selector()); !apierrors.IsForbidden(err) {
		return err
	}
	return nil
}

// goneOf returns once no object of r is left that matches selector.
func goneOf[T any, P object[T]](ctx context.Context, c *Cluster, r plural, selector string) error {
	return untilGone(ctx, typedSource[T, P](c, r, selector), string(r), selector)
}

// untilGone returns once a source has no objects.
func untilGone[P metav1.Object](ctx context.Context, from source[P], resource, selector string) error {
	watching, stop := context.WithCancel(ctx)
	states := followSource(watching, from, nil)
	defer drain(states)
	defer stop()
	left, err := untilNone(ctx, states)
	if ctx.Err() != nil && err != nil {
		return fmt.Errorf("waiting until the %s with %s are gone: %w; left: %s",
			resource, selector, err, strings.Join(left, ", "))
	}
	return err
}

// untilNone returns once a state has no objects; with an error it returns the names of those that there were last.
func untilNone[P metav1.Object](ctx context.Context, states <-chan state[P]) (left []string, err error) {
	left = []string{"unknown"}
	for {
		select {
		case s, ok := <-states:
			if !ok { // ctx has ended: nobody knows any more
				states = nil
				continue
			}
			if s.err != nil {
				return left, s.err
			}
			if len(s.items) == 0 {
				return nil, nil
			}
			left = left[:0]
			for _, item := range s.items {
				left = append(left, item.GetName())
			}
		case <-ctx.Done():
			return left, ctx.Err()
		}
	}
}
