package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The groups of kinds that are made and looked at.
func core(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: plural}
}

func inGroup(group, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}
}

func ofKueue(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: plural}
}

const (
	gpu     = "nvidia.com/gpu"
	workers = 16 // objects made, or ended, at a time
)

// lab is the two clusters.
type lab struct {
	o           options
	log         io.Writer
	hub, worker dynamic.Interface
	proxy       rest.Interface // of the hub, for what pods serve

	beside sync.WaitGroup                // what goes on beside a measurement, and ends with it
	undo   []func(context.Context) error // in reverse order
}

func newLab(o options, log io.Writer) (*lab, error) {
	l := &lab{o: o, log: log}
	config, err := connect(o.hub)
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub: %w", err)
	}
	if l.hub, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("connecting to the hub: %w", err)
	}
	if l.proxy, err = proxyOf(config); err != nil {
		return nil, fmt.Errorf("connecting to the hub: %w", err)
	}
	if config, err = connect(o.worker); err != nil {
		return nil, fmt.Errorf("connecting to the worker: %w", err)
	}
	if l.worker, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("connecting to the worker: %w", err)
	}
	return l, nil
}

func connect(path string) (*rest.Config, error) {
	if path == "" {
		return nil, errors.New("no kubeconfig is named")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 2000, 4000 // the actor must not be what is measured
	return config, nil
}

// close takes back what build did, the last first.
func (l *lab) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var all error
	for i := len(l.undo) - 1; i >= 0; i-- {
		all = errors.Join(all, l.undo[i](ctx))
	}
	return all
}

func (l *lab) addUndo(f func(context.Context) error) { l.undo = append(l.undo, f) }

// create makes an object, or leaves the one that is there.
func create(ctx context.Context, api dynamic.ResourceInterface, o *unstructured.Unstructured) error {
	_, err := api.Create(ctx, o, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// patch tries again where a webhook is too busy to answer: thousands of objects that go keep Kueue's so for a while.
func patch(ctx context.Context, api dynamic.ResourceInterface, name, text string, sub ...string) error {
	for {
		_, err := api.Patch(ctx, name, types.MergePatchType, []byte(text), metav1.PatchOptions{}, sub...)
		if err == nil {
			return nil
		}
		if !apierrors.IsInternalError(err) || ctx.Err() != nil {
			return fmt.Errorf("changing %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// forEach calls f for 0 to n-1, a few at a time, and returns the first error.
func forEach(ctx context.Context, n int, f func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range numbers {
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case numbers <- i:
		case <-ctx.Done():
		}
	}
	close(numbers)
	wg.Wait()
	return context.Cause(ctx)
}

// await looks every second until said is empty.
func await(ctx context.Context, what string, look func(context.Context) (said string, err error)) error {
	for {
		said, err := look(ctx)
		if err != nil {
			return err
		}
		if said == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %s: %w", what, said, ctx.Err())
		case <-time.After(time.Second):
		}
	}
}

// runBflow runs bflow on the hub.
func (l *lab) runBflow(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, l.o.bflow, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+l.o.hub)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("bflow %s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	return nil
}
