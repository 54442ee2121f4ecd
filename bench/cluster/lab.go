package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// Kinds that are looked at, by their plural names.
const (
	pods         = "pods"
	pipelines    = "pipelines"
	pipelineRuns = "pipelineruns"
	taskRuns     = "taskruns"
)

// kind returns the way to the objects of a kind in all namespaces.
func (l *lab) kind(plural string) dynamic.NamespaceableResourceInterface {
	if plural == pods {
		return l.api.Resource(schema.GroupVersionResource{Version: "v1", Resource: plural})
	}
	return l.api.Resource(schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: plural})
}

// experiment is a small run with every task a run can have without a tracking server; the length of its load is left
// open.
const experiment = `apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: bench-cluster}
spec:
  model: {name: demo/tiny}
  deployment_profile: sim
  stages: {collect: false}
  load: {data: {input: 32, output: 8}, stages: [{rate: 20, duration: %s}]}
`

// lab is the cluster and a folder here.
type lab struct {
	o    options
	api  dynamic.Interface
	log  io.Writer
	dir  string
	twin *unstructured.Unstructured // the minimal PipelineRun; its Pipeline is on the cluster
	left []string                   // runs that are not deleted yet
	n    int
}

func newLab(ctx context.Context, o options, log io.Writer) (*lab, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 100, 200
	l := &lab{o: o, log: log}
	if l.api, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	for _, path := range []*string{&l.o.bflow, &l.o.lock} { // the program runs in a folder of its own
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return nil, err
		}
	}
	if l.dir, err = os.MkdirTemp("", "bflow-bench-cluster-"); err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	return l, nil
}

// close takes away what is left here and there; more than the Pipeline only where something went wrong.
func (l *lab) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var err error
	for _, run := range l.left {
		if strings.HasPrefix(run, twinName) {
			err = errors.Join(err, l.kind(pipelineRuns).Namespace(l.o.namespace).Delete(ctx, run, metav1.DeleteOptions{}))
			continue
		}
		_, failed := l.bflow(ctx, "delete", run, "-n", l.o.namespace, "--force")
		err = errors.Join(err, failed)
	}
	if l.twin != nil {
		err = errors.Join(err, l.kind(pipelines).Namespace(l.o.namespace).Delete(ctx, twinName, metav1.DeleteOptions{}))
	}
	return errors.Join(err, os.RemoveAll(l.dir))
}

// ours runs the experiment through bflow and its queue.
func (l *lab) ours(ctx context.Context) (*measured, error) {
	file := filepath.Join(l.dir, "experiment.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, experiment, l.length()), 0o644); err != nil {
		return nil, fmt.Errorf("writing the experiment: %w", err)
	}
	args := []string{"run", file, "-n", l.o.namespace, "--load-cpu", l.o.loadCPU}
	if l.o.lock != "" {
		args = append(args, "--lock", l.o.lock)
	}
	if l.o.bundle != "" {
		args = append(args, "--bundle", l.o.bundle)
	}
	m, err := l.measure(ctx, func(ctx context.Context) (string, error) {
		out, err := l.bflow(ctx, args...)
		return strings.TrimSpace(out), err
	}, func(t *timeline) bool { return t.released })
	if err != nil {
		return nil, err
	}
	if l.twin == nil {
		if err := l.makeTwin(ctx, m.run); err != nil {
			return nil, err
		}
	}
	l.n++
	dir := filepath.Join(l.dir, strconv.Itoa(l.n))
	if _, err := l.bflow(ctx, "fetch", m.run, "-n", l.o.namespace, "--out", dir, "--only", "events.jsonl", "--only",
		"deployment/"); err != nil {
		return nil, err
	}
	if m.wait, err = readWait(dir); err != nil {
		return nil, err
	}
	if m.load, err = readLoad(dir); err != nil {
		return nil, err
	}
	if _, err := l.bflow(ctx, "delete", m.run, "-n", l.o.namespace); err != nil {
		return nil, err
	}
	l.left = nil
	return m, l.rest(ctx)
}

// length is that of the next load: from run to run another part of a second, evenly spread.
func (l *lab) length() time.Duration {
	return 2*time.Second + time.Duration(l.n%l.o.runs)*time.Second/time.Duration(l.o.runs)
}

// minimal runs the hand-written Pipeline.
func (l *lab) minimal(ctx context.Context) (*measured, error) {
	api := l.kind(pipelineRuns).Namespace(l.o.namespace)
	m, err := l.measure(ctx, func(ctx context.Context) (string, error) {
		made, err := api.Create(ctx, l.twin, metav1.CreateOptions{})
		if err != nil {
			return "", fmt.Errorf("creating the minimal run: %w", err)
		}
		return made.GetName(), nil
	}, func(*timeline) bool { return true })
	if err != nil {
		return nil, err
	}
	foreground := metav1.DeletePropagationForeground
	if err := api.Delete(ctx, m.run, metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		return nil, fmt.Errorf("deleting %s: %w", m.run, err)
	}
	l.left = nil
	return m, errors.Join(l.waitUntilGone(ctx, m.run), l.rest(ctx))
}

// measure starts a run under watch and returns when it has ended well and settled.
func (l *lab) measure(
	ctx context.Context, start func(context.Context) (string, error), settled func(*timeline) bool,
) (*measured, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.limit)
	defer cancel()
	w, err := l.watch(ctx)
	if err != nil {
		return nil, err
	}
	defer w.close()
	m := &measured{others: l.busy(ctx)}
	run, err := start(ctx)
	if err != nil {
		return nil, err
	}
	l.left = append(l.left, run)
	if m.timeline, err = w.await(ctx, run, func(t *timeline) bool { return !t.end.IsZero() }); err != nil {
		return nil, err
	}
	if m.failed != "" {
		return nil, fmt.Errorf("running %s: it failed: %s", run, m.failed)
	}
	if _, err := w.await(ctx, run, settled); err != nil {
		return nil, err
	}
	m.others = max(m.others, l.busy(ctx))
	return m, nil
}

// busy counts PipelineRuns that run, in all namespaces that may be read.
func (l *lab) busy(ctx context.Context) (n int) {
	list, err := l.kind(pipelineRuns).List(ctx, metav1.ListOptions{})
	if err != nil {
		if list, err = l.kind(pipelineRuns).Namespace(l.o.namespace).List(ctx, metav1.ListOptions{}); err != nil {
			return 0
		}
	}
	for _, pr := range list.Items {
		waiting, _, _ := unstructured.NestedString(pr.Object, "spec", "status")
		if ended, _, _ := succeeded(&pr); !ended && waiting != "PipelineRunPending" {
			n++
		}
	}
	return n
}

// bflow runs the program and returns what it wrote to standard output.
func (l *lab) bflow(ctx context.Context, args ...string) (string, error) {
	if l.o.kubeconfig != "" {
		args = append(args, "--kubeconfig", l.o.kubeconfig)
	}
	cmd := exec.CommandContext(ctx, l.o.bflow, args...)
	cmd.Dir = l.dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("bflow %s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String(), nil
}

// waitUntilGone waits until neither the run nor its pods are there.
func (l *lab) waitUntilGone(ctx context.Context, run string) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.limit)
	defer cancel()
	for {
		_, err := l.kind(pipelineRuns).Namespace(l.o.namespace).Get(ctx, run, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			left, err := l.kind(pods).Namespace(l.o.namespace).List(ctx, metav1.ListOptions{LabelSelector: labelRun + "=" + run})
			if err == nil && len(left.Items) == 0 {
				return nil
			}
		}
		if !sleep(ctx, 500*time.Millisecond) {
			return fmt.Errorf("waiting until %s is gone: %w", run, ctx.Err())
		}
	}
}

func (l *lab) rest(ctx context.Context) error {
	if !sleep(ctx, l.o.pause) {
		return ctx.Err()
	}
	return nil
}

// sleep waits for d; false when ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
