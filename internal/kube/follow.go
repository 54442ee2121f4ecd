package kube

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Object is a pointer to an object of type T.
type Object[T any] interface {
	*T
	metav1.Object
	runtime.Object
}

// Follow calls news with all objects that sel selects, in any order: now, and after every change, until ctx ends or the
// server refuses; it returns why. A server that does not answer is asked again every second, and what has changed by
// then is news. trouble is called once with the error of such an interruption, and with nil when it is over; it may be
// nil. The objects must not be changed.
func Follow[T any, P Object[T]](ctx context.Context, c *Client, at At, sel Selector, news func([]P),
	trouble func(error),
) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	f := &follower[T, P]{c: c, at: at, sel: sel, stop: stop, trouble: trouble}
	kept := &store[P]{Store: cache.NewStore(cache.MetaNamespaceKeyFunc), news: news}
	questions := cache.ToListWatcherWithWatchListSemantics(
		&cache.ListWatch{ListWithContextFunc: f.list, WatchFuncWithContext: f.watch}, f)
	reflector := cache.NewReflectorWithOptions(questions, P(new(T)), kept,
		cache.ReflectorOptions{Name: at.Resource, Backoff: &wait.Backoff{Duration: Pause}})
	reflector.RunWithContext(klog.NewContext(ctx, logr.Discard()))
	return context.Cause(ctx)
}

// store is that of a reflector, which tells what is in it after each change.
type store[P any] struct {
	cache.Store
	news func([]P)
}

func (s *store[P]) Add(obj any) error    { return s.tell(s.Store.Add(obj)) }
func (s *store[P]) Update(obj any) error { return s.tell(s.Store.Update(obj)) }
func (s *store[P]) Delete(obj any) error { return s.tell(s.Store.Delete(obj)) }

func (s *store[P]) Replace(all []any, version string) error {
	return s.tell(s.Store.Replace(all, version))
}

func (s *store[P]) tell(err error) error {
	found := s.List()
	all := make([]P, len(found))
	for i := range found {
		all[i], _ = found[i].(P)
	}
	s.news(all)
	return err
}

// follower asks the questions of a reflector.
type follower[T any, P Object[T]] struct {
	c    *Client
	at   At
	sel  Selector
	stop context.CancelCauseFunc

	trouble     func(error)
	interrupted bool
}

// IsWatchListSemanticsUnSupported has the reflector read lists in pages: servers that cannot stream them answer with an
// error that says little.
func (f *follower[T, P]) IsWatchListSemanticsUnSupported() bool { return true }

// list reads all objects as they are now. A reflector would be content with a state of the past, in which an object
// that was made a moment ago is not there yet.
func (f *follower[T, P]) list(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	all, version, err := listAll[T](ctx, f.c, f.at, f.sel)
	if f.judge(ctx, err); err != nil {
		return nil, err
	}
	list := &internalversion.List{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for i := range all {
		list.Items = append(list.Items, P(&all[i]))
	}
	return list, nil
}

// watch opens the stream of changes since a version.
func (f *follower[T, P]) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	r := metadataOnly[T](f.sel.on(f.at.on(f.c.rest.Get())), "").Param("watch", "true").
		Param("resourceVersion", o.ResourceVersion).Param("allowWatchBookmarks", "true")
	if o.TimeoutSeconds != nil {
		r = r.Param("timeoutSeconds", strconv.FormatInt(*o.TimeoutSeconds, 10))
	}
	body, err := f.c.stream(ctx, f.at, r)
	if f.judge(ctx, err); err != nil {
		return nil, err
	}
	source := &events[T, P]{body: body, json: json.NewDecoder(body)}
	return watch.NewStreamWatcherWithLogger(logr.Discard(), source, reporter{}), nil
}

// judge tells of an interruption and of its end, and ends the following where it is of no use to ask again.
func (f *follower[T, P]) judge(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case IsFinal(err):
		f.stop(err)
	case f.trouble != nil && f.interrupted != (err != nil):
		f.interrupted = err != nil
		f.trouble(err)
	}
}

// events reads a stream of changes.
type events[T any, P Object[T]] struct {
	body io.ReadCloser
	json *json.Decoder
}

// Decode reads one change.
func (e *events[T, P]) Decode() (watch.EventType, runtime.Object, error) {
	var event struct {
		Type   watch.EventType
		Object json.RawMessage
	}
	if err := e.json.Decode(&event); err != nil {
		return "", nil, err
	}
	var obj runtime.Object = P(new(T))
	if event.Type == watch.Error {
		obj = &metav1.Status{}
	}
	return event.Type, obj, json.Unmarshal(event.Object, obj)
}

// Close ends the stream.
func (e *events[T, P]) Close() { _ = e.body.Close() }

// reporter makes what cannot be read a part of the stream.
type reporter struct{}

// AsObject is the Status that says so.
func (reporter) AsObject(err error) runtime.Object { return &apierrors.NewInternalError(err).ErrStatus }

// Until follows objects until done says so or fails. done is asked now, after every change, and every so often where
// every is not 0; its error is that for which the server does not answer at the moment.
func Until[T any, P Object[T]](ctx context.Context, c *Client, at At, sel Selector, every time.Duration,
	done func(all []P, trouble error) (bool, error),
) error {
	ctx, cancel := context.WithCancel(ctx)
	news, troubles, ended := make(chan []P), make(chan error), make(chan error, 1)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	following.Go(func() { ended <- Follow(ctx, c, at, sel, send(ctx, news), send(ctx, troubles)) })
	var tick <-chan time.Time
	if every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		tick = ticker.C
	}
	var all []P
	var trouble error
	for known := false; ; {
		select {
		case all = <-news:
			known = true
		case trouble = <-troubles:
		case <-tick:
		case err := <-ended:
			return err
		}
		if !known && trouble == nil {
			continue
		}
		if is, err := done(all, trouble); is || err != nil {
			return err
		}
	}
}

// send returns a function that hands over to c unless ctx ends.
func send[T any](ctx context.Context, c chan<- T) func(T) {
	return func(v T) {
		select {
		case c <- v:
		case <-ctx.Done():
		}
	}
}
