package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// The controller is calm when it makes few requests for some seconds: the ones that it always makes.
const (
	calmTime = 5 * time.Second
	calmRate = 20
)

// measure fills the queues of a side while what has its place there stays, then lets everything end as soon as it was
// let start, and returns when all has had its turn.
func (l *lab) measure(ctx context.Context, s side) (figures, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.limit)
	defer cancel()
	fail := func(err error) (figures, error) { return figures{}, fmt.Errorf("measuring %s: %w", s.name, err) }
	rec := newRecord()
	defer l.beside.Wait()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	open := make(chan struct{})
	ended, err := l.act(watching, s, rec, open)
	if err != nil {
		return fail(err)
	}
	l.addUndo(func(ctx context.Context) error { return l.empty(ctx, s) }) // also when it is cut short
	if err := l.fill(ctx, s); err != nil {
		return fail(err)
	}
	before, err := l.usage(ctx)
	if err != nil {
		return fail(err)
	}
	most := l.sample(watching)
	fmt.Fprintf(l.log, "%s: what has its place may end\n", time.Now().Format(time.TimeOnly))
	rec.opened = time.Now()
	close(open)
	for n := 0; n < l.o.count; n++ {
		select {
		case err := <-ended:
			if err != nil {
				return fail(err)
			}
		case <-ctx.Done():
			return fail(fmt.Errorf("%d of %d were let start: %w", rec.countStarted(), l.o.count, ctx.Err()))
		}
		if (n+1)%500 == 0 {
			fmt.Fprintf(l.log, "%s: %d %s have ended\n", time.Now().Format(time.TimeOnly), n+1, s.name)
		}
	}
	f := rec.figures(l.o.slots())
	f.name = s.name
	if err := l.settle(ctx, s); err != nil {
		return fail(err)
	}
	after, err := l.usage(ctx)
	if err != nil {
		return fail(err)
	}
	stop()
	f.controller = usage{memory: max(after.memory, <-most), calls: after.calls - before.calls}
	return f, l.empty(ctx, s)
}

// fill makes everything that is to wait, and waits until Kueue knows of it and the controller has said all about it.
func (l *lab) fill(ctx context.Context, s side) error {
	fmt.Fprintf(l.log, "%s: making %d %s\n", time.Now().Format(time.TimeOnly), l.o.count, s.name)
	api := l.hub.Resource(s.kind).Namespace(s.namespace)
	err := forEach(ctx, l.o.count, func(ctx context.Context, i int) error {
		return create(ctx, api, s.object(i, i%l.o.targets))
	})
	if err != nil {
		return err
	}
	err = await(ctx, "the Workloads", func(ctx context.Context) (string, error) {
		n, err := count(ctx, l.hub.Resource(ofKueue("workloads")).Namespace(s.namespace))
		if err != nil || n >= l.o.count {
			return "", err
		}
		return fmt.Sprintf("%d of %d are there", n, l.o.count), nil
	})
	if err != nil {
		return err
	}
	return l.awaitCalm(ctx)
}

// awaitCalm waits until the controller has nothing more to write about what waits.
func (l *lab) awaitCalm(ctx context.Context) error {
	last, at, said := -1.0, time.Time{}, ""
	return await(ctx, "the controller to be done with what waits", func(ctx context.Context) (string, error) {
		if time.Since(at) < calmTime {
			return said, nil
		}
		now, err := l.usage(ctx)
		if err != nil {
			return "", err
		}
		rate := (now.calls - last) / time.Since(at).Seconds()
		if last >= 0 && rate < calmRate {
			return "", nil
		}
		last, at, said = now.calls, time.Now(), fmt.Sprintf("it makes %.0f requests a second", rate)
		return said, nil
	})
}

// count asks for one object and how many more there are.
func count(ctx context.Context, api dynamic.ResourceInterface) (int, error) {
	list, err := api.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, err
	}
	n := len(list.Items)
	if more := list.GetRemainingItemCount(); more != nil {
		n += int(*more)
	}
	return n, nil
}

// act ends everything of a side as soon as it was let start, from when open is closed, and tells of each.
func (l *lab) act(ctx context.Context, s side, rec *record, open <-chan struct{}) (<-chan error, error) {
	started := make(chan *unstructured.Unstructured, l.o.count)
	ended := make(chan error, l.o.count)
	api := l.hub.Resource(s.kind).Namespace(s.namespace)
	for range workers {
		l.beside.Go(func() {
			select {
			case <-open:
			case <-ctx.Done():
				return
			}
			for {
				select {
				case u := <-started:
					now := time.Now() // its place is free before the answer comes
					status, _ := json.Marshal(object{"status": s.ended(now)})
					rec.end(u.GetLabels()[sideLabel], now)
					ended <- patch(ctx, api, u.GetName(), string(status), "status")
				case <-ctx.Done():
					return
				}
			}
		})
	}
	look := func(obj any) {
		if u, ok := obj.(*unstructured.Unstructured); ok && s.started(u) &&
			rec.start(u.GetLabels()[sideLabel], u.GetName(), time.Now()) {
			started <- u
		}
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(l.hub, s.kind, s.namespace, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = sideLabel }).Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: look, UpdateFunc: func(_, now any) { look(now) }}); err != nil {
		return nil, err
	}
	l.beside.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("watching: %w", ctx.Err())
	}
	return ended, nil
}

// settle waits until no Workload holds quota any more.
func (l *lab) settle(ctx context.Context, s side) error {
	return await(ctx, "the quota to come back", func(ctx context.Context) (string, error) {
		list, err := l.hub.Resource(ofKueue("clusterqueues")).List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		reserving := map[string]int64{}
		for _, q := range list.Items {
			reserving[q.GetName()], _, _ = unstructured.NestedInt64(q.Object, "status", "reservingWorkloads")
		}
		for i := range l.o.targets {
			if n := reserving[s.queue(i)]; n > 0 {
				return fmt.Sprintf("%d hold quota of %s", n, s.queue(i)), nil
			}
		}
		return "", nil
	})
}

// empty deletes everything of a side.
func (l *lab) empty(ctx context.Context, s side) error {
	api := l.hub.Resource(s.kind).Namespace(s.namespace)
	background := metav1.DeletePropagationBackground
	ours := metav1.ListOptions{LabelSelector: sideLabel}
	if err := api.DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, ours); err != nil {
		return fmt.Errorf("deleting %s: %w", s.name, err)
	}
	return await(ctx, s.name+" to go", func(ctx context.Context) (string, error) {
		list, err := api.List(ctx, metav1.ListOptions{LabelSelector: sideLabel, Limit: 1})
		if err != nil || len(list.Items) == 0 {
			return "", err
		}
		return "some are left", nil
	})
}
