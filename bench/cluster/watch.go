package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// Names that Tekton and bflow give.
const (
	labelRun           = "tekton.dev/pipelineRun"
	labelTask          = "tekton.dev/pipelineTask"
	annotationReleased = "bflow.dev/released"
)

// observation is an object, and when it was received.
type observation struct {
	kind   string
	object *unstructured.Unstructured
	at     time.Time
}

// watcher keeps the timelines of all runs of a namespace while it is open.
type watcher struct {
	events  chan observation
	broken  chan error
	streams []watch.Interface
	stop    context.CancelFunc
	hearing sync.WaitGroup // a goroutine for each stream
	runs    map[string]*timeline
}

// watch opens the streams: nothing that is made afterwards is missed.
func (l *lab) watch(ctx context.Context) (*watcher, error) {
	w := &watcher{events: make(chan observation, 1000), broken: make(chan error, 3), runs: map[string]*timeline{}}
	ctx, w.stop = context.WithCancel(ctx)
	for _, kind := range []string{pipelineRuns, taskRuns, pods} {
		api := l.kind(kind).Namespace(l.o.namespace)
		list, err := api.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			w.close()
			return nil, fmt.Errorf("listing %s: %w", kind, err)
		}
		stream, err := api.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		if err != nil {
			w.close()
			return nil, fmt.Errorf("watching %s: %w", kind, err)
		}
		w.streams = append(w.streams, stream)
		w.hearing.Go(func() { w.receive(ctx, kind, stream) })
	}
	return w, nil
}

func (w *watcher) close() {
	w.stop()
	for _, s := range w.streams {
		s.Stop()
	}
	w.hearing.Wait()
}

// receive stamps what comes.
func (w *watcher) receive(ctx context.Context, kind string, stream watch.Interface) {
	for event := range stream.ResultChan() {
		o, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Deleted || event.Type == watch.Error {
			continue
		}
		select {
		case w.events <- observation{kind, o, time.Now()}:
		case <-ctx.Done():
			return
		}
	}
	w.broken <- fmt.Errorf("watching %s: the stream ended", kind)
}

// await reads until of is true of the timeline of a run.
func (w *watcher) await(ctx context.Context, run string, of func(*timeline) bool) (*timeline, error) {
	for {
		if t := w.runs[run]; t != nil && of(t) {
			return t, nil
		}
		select {
		case e := <-w.events:
			w.note(e)
		case err := <-w.broken:
			return nil, err
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s: %w", run, errors.Join(ctx.Err(), context.Cause(ctx)))
		}
	}
}

func (w *watcher) note(e observation) {
	run := e.object.GetLabels()[labelRun]
	if e.kind == pipelineRuns {
		run = e.object.GetName()
	}
	if run == "" || e.kind != pipelineRuns && e.object.GetLabels()[labelTask] == "" {
		return // of nobody, or Tekton's own pod that keeps a volume on a node
	}
	if w.runs[run] == nil {
		w.runs[run] = &timeline{run: run}
	}
	switch e.kind {
	case pipelineRuns:
		w.runs[run].noteRun(e.object, e.at)
	case taskRuns:
		w.runs[run].noteTaskRun(e.object, e.at)
	case pods:
		w.runs[run].notePod(e.object, e.at)
	}
}
