package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// FailedError says that a deployment will not become ready, and why.
type FailedError struct {
	Reason string // one word: CrashLoopBackOff, ImagePull, Unschedulable, OOMKilled, ...
	Text   string // one sentence
}

func (e *FailedError) Error() string { return e.Reason + ": " + e.Text }

// Await returns the pods of the run once all those that its platform has for d are ready. It returns a FailedError as
// soon as waiting longer makes no sense, and the state of things with the error of ctx when that ends. tell gets a line
// for every change.
func (c *Cluster) Await(
	ctx context.Context, where *platform.Platform, d *runplan.Deployment, run Run, tell func(line string),
) ([]*corev1.Pod, error) {
	ctx, stop := context.WithCancel(ctx)
	w := &wait{
		c: c, where: where, d: d, tell: tell, timer: time.NewTimer(time.Hour),
		workloads: map[string][]*unstructured.Unstructured{},
	}
	w.judge.fits = func(pod *corev1.Pod) (bool, string) { return fits(pod, w.nodes(ctx)) }
	podStates := follow[corev1.Pod](ctx, c, pods, run.selector())
	workloadStates := c.followKinds(ctx, where.PodKinds(), run.selector())
	defer drain(workloadStates)
	defer drain(podStates)
	defer stop()
	for {
		var err error
		select {
		case s, ok := <-podStates:
			if !ok { // ctx has ended
				return nil, w.late(context.Cause(ctx))
			}
			w.pods, err = s.items, s.err
		case s, ok := <-workloadStates:
			if !ok {
				return nil, w.late(context.Cause(ctx))
			}
			err = s.err
			w.workloads[s.kind] = s.items
		case <-w.timer.C:
		case <-ctx.Done():
			return nil, w.late(context.Cause(ctx))
		}
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
		if done, err := w.step(ctx); done || err != nil {
			return w.pods, err
		}
	}
}

// wait is what Await knows.
type wait struct {
	c         *Cluster
	where     *platform.Platform
	d         *runplan.Deployment
	tell      func(string)
	timer     *time.Timer
	judge     judge
	pods      []*corev1.Pod
	workloads map[string][]*unstructured.Unstructured // by kind: the objects that make pods
	said      string
	cached    []*corev1.Node
}

func (w *wait) step(ctx context.Context) (bool, error) {
	if line := w.describe(); line != w.said {
		w.said = line
		w.tell(line)
	}
	if w.isReady() {
		return true, nil
	}
	now := time.Now()
	fatal, wake := w.judge.look(now, w.pods, w.deployments()...)
	if fatal != nil {
		return false, w.c.failed(ctx, fatal)
	}
	if !wake.IsZero() {
		w.timer.Reset(wake.Sub(now))
	}
	return false, nil
}

// isReady says whether every object and every pod that the platform has is there and ready.
func (w *wait) isReady() bool {
	var all []*unstructured.Unstructured
	for _, k := range w.where.PodKinds() {
		found, listed := w.workloads[k.Kind]
		if !listed {
			return false
		}
		all = append(all, found...)
	}
	return w.where.Ready(all) && len(w.pods) >= w.where.Pods(w.d)
}

// deployments are those among the objects that make pods. Their status says why pods cannot be made.
func (w *wait) deployments() []*appsv1.Deployment {
	var all []*appsv1.Deployment
	for _, object := range w.workloads["Deployment"] {
		d := &appsv1.Deployment{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, d) == nil {
			all = append(all, d)
		}
	}
	return all
}

// late says how things stood when the time was over, with the reason where there is one.
func (w *wait) late(cause error) error {
	for _, s := range append(refusals(w.deployments()...), w.judge.ofPods(w.pods)...) {
		return fmt.Errorf("%w; %s: %s", cause, s.reason, s.text)
	}
	return fmt.Errorf("%w; %s", cause, w.describe())
}

// nodes are asked for once: an account that may not list them does without.
func (w *wait) nodes(ctx context.Context) []*corev1.Node {
	if w.cached == nil {
		found, err := all[corev1.Node](ctx, w.c, nodes, "")
		if err != nil {
			return nil
		}
		w.cached = found
	}
	return w.cached
}

// failed adds to a crash what the container said last: most programs end with their reason.
func (c *Cluster) failed(ctx context.Context, s *symptom) error {
	text := s.text
	if s.container != "" {
		if line := c.lastLine(ctx, s.pod, s.container); line != "" {
			text += "; its last line: " + line
		}
	}
	return &FailedError{Reason: s.reason, Text: text}
}

// describe is the state of the pods on one line.
func (w *wait) describe() string {
	if len(w.pods) == 0 {
		for _, s := range refusals(w.deployments()...) {
			return s.text
		}
		return "no pod was created yet"
	}
	parts := make([]string, len(w.pods))
	for i, pod := range w.pods {
		parts[i] = "pod " + pod.Name + ": " + phase(pod)
	}
	return strings.Join(parts, "; ")
}

// phase is where a pod is on its way.
func phase(pod *corev1.Pod) string {
	if pod.DeletionTimestamp != nil {
		return "ending"
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return "ready"
		}
	}
	for _, s := range symptoms(pod) {
		return s.reason
	}
	for _, c := range pod.Status.InitContainerStatuses {
		if c.State.Running != nil {
			return c.Name + " is running"
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		switch {
		case c.State.Running != nil:
			return "running, not ready"
		case c.State.Waiting != nil:
			return orElse(c.State.Waiting.Reason, "waiting")
		}
	}
	if pod.Spec.NodeName == "" {
		return "not scheduled yet"
	}
	return strings.ToLower(string(pod.Status.Phase))
}
