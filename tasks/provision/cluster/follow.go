package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// again is the pause before a list that failed, or a watch that ended, is begun anew.
const again = time.Second

// listTime bounds a list: a network that swallows packets would keep it waiting.
const listTime = time.Minute

// state is all objects of a kind at one time, in the order of their names.
type state[P any] struct {
	items []P
	err   error // the server refuses to tell: nothing more will come
}

// follow sends the objects of r that match selector: all of them, then all of them after every change, in order, until
// ctx ends; then it closes the channel, and nothing of it is left. A server that is away is asked until it is back.
func follow[T any, P object[T]](ctx context.Context, c *Cluster, r plural, selector string) <-chan state[P] {
	return followAnyway[T, P](ctx, c, r, selector, nil)
}

// followAnyway is follow that never gives up, where told is not nil: told hears of every failure, and of every success
// as nil. What is refused now may be allowed again: an account that was deleted is made anew.
func followAnyway[T any, P object[T]](ctx context.Context, c *Cluster, r plural, selector string,
	told func(error)) <-chan state[P] {
	return followSource(ctx, typedSource[T, P](c, r, selector), told)
}

// source is where the objects of one kind are listed and watched.
type source[P metav1.Object] struct {
	list  func(ctx context.Context) (items []P, version string, err error)
	watch func(ctx context.Context, version string) (watch.Interface, error)
}

// typedSource is that of the objects of r that match selector.
func typedSource[T any, P object[T]](c *Cluster, r plural, selector string) source[P] {
	return source[P]{
		list: func(ctx context.Context) ([]P, string, error) { return page[T, P](ctx, c, r, selector) },
		watch: func(ctx context.Context, version string) (watch.Interface, error) {
			request := c.client(r).Get().Namespace(c.Namespace).Resource(string(r))
			w, err := watched(request, selector, version).Watch(ctx)
			if err != nil {
				return nil, fmt.Errorf("watching %s of namespace %q: %w", r, c.Namespace, err)
			}
			return w, nil
		},
	}
}

// watched asks for changes since a version.
func watched(request *rest.Request, selector, version string) *rest.Request {
	return request.Param("labelSelector", selector).Param("watch", "true").Param("resourceVersion", version).
		Param("allowWatchBookmarks", "true").Param("timeoutSeconds", "300")
}

// followSource is followAnyway with a source.
func followSource[P metav1.Object](ctx context.Context, from source[P], told func(error)) <-chan state[P] {
	out := make(chan state[P])
	f := &follower[P]{from: from, out: out, told: told}
	go func() {
		defer close(out)
		for ctx.Err() == nil {
			err := f.once(ctx)
			if told == nil && (apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)) {
				f.send(ctx, state[P]{err: err})
				return
			}
			if told != nil && err != nil && ctx.Err() == nil {
				told(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(again):
			}
		}
	}()
	return out
}

// drain waits until a channel is closed, whatever comes before.
func drain[S any](from <-chan S) {
	for range from {
	}
}

type follower[P metav1.Object] struct {
	from  source[P]
	out   chan<- state[P]
	told  func(error)
	found map[string]P
}

// once lists, then watches until the server ends the watch.
func (f *follower[P]) once(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, listTime)
	items, version, err := f.from.list(asking)
	cancel()
	if err != nil {
		return err
	}
	if f.told != nil {
		f.told(nil)
	}
	f.found = map[string]P{}
	for _, item := range items {
		f.found[item.GetName()] = item
	}
	f.tell(ctx)
	w, err := f.from.watch(ctx, version)
	if err != nil {
		return err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if !f.apply(event) {
			return nil
		}
		if event.Type != watch.Bookmark {
			f.tell(ctx)
		}
	}
	return nil
}

// apply takes one event in; false where the watch has to begin anew.
func (f *follower[P]) apply(event watch.Event) bool {
	item, ok := event.Object.(P)
	switch event.Type {
	case watch.Added, watch.Modified:
		if ok {
			f.found[item.GetName()] = item
		}
	case watch.Deleted:
		if ok {
			delete(f.found, item.GetName())
		}
	case watch.Bookmark:
	default: // an error: most often the version is too old
		return false
	}
	return true
}

func (f *follower[P]) tell(ctx context.Context) {
	items := make([]P, 0, len(f.found))
	for _, name := range slices.Sorted(maps.Keys(f.found)) {
		items = append(items, f.found[name])
	}
	f.send(ctx, state[P]{items: items})
}

func (f *follower[P]) send(ctx context.Context, s state[P]) {
	select {
	case f.out <- s:
	case <-ctx.Done():
	}
}
