package main

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// mark is a point that every task passes, in this order.
type mark int

const (
	asked    mark = iota // the TaskRun is there
	podMade              // its pod is there
	placed               // the pod has a node
	prepared             // its init containers have ended
	begun                // a container of a step runs
	over                 // the last one has ended
	done                 // the TaskRun says so
	marks
)

// spans are the names of the times between a mark and the one before, in the order of marks.
func spans() [marks]string {
	return [marks]string{"asked", "pod", "node", "init", "start", "steps", "done"}
}

// timeline is when what of a PipelineRun was seen. A zero time was not seen.
type timeline struct {
	run        string
	begin, end time.Time
	failed     string // why, where the run did not succeed
	released   bool
	tasks      map[string]*taskLine
}

type taskLine struct {
	name string
	at   [marks]time.Time
}

// pass notes that a task has come so far; the marks before, if they were missed, at the same time.
func (t *taskLine) pass(m mark, at time.Time) {
	for i := range m + 1 {
		if t.at[i].IsZero() {
			t.at[i] = at
		}
	}
}

// inOrder are the tasks as they were asked for.
func (l *timeline) inOrder() []*taskLine {
	var tasks []*taskLine
	for _, t := range l.tasks {
		tasks = append(tasks, t)
	}
	slices.SortFunc(tasks, func(a, b *taskLine) int { return a.at[asked].Compare(b.at[asked]) })
	return tasks
}

// span is the time that a task took up to m since the mark before; for the first mark since the task before was done.
func (l *timeline) span(task string, m mark) time.Duration {
	t := l.tasks[task]
	if t == nil {
		return 0
	}
	if m > asked {
		return t.at[m].Sub(t.at[m-1])
	}
	before := l.begin
	for _, other := range l.inOrder() {
		if other == t {
			break
		}
		before = other.at[done]
	}
	return t.at[asked].Sub(before)
}

// tail is the time from the end of the last task to that of the run.
func (l *timeline) tail() time.Duration {
	tasks := l.inOrder()
	if len(tasks) == 0 {
		return l.end.Sub(l.begin)
	}
	return l.end.Sub(tasks[len(tasks)-1].at[done])
}

func (l *timeline) task(name string) *taskLine {
	if l.tasks == nil {
		l.tasks = map[string]*taskLine{}
	}
	if l.tasks[name] == nil {
		l.tasks[name] = &taskLine{name: name}
	}
	return l.tasks[name]
}

// noteRun notes a state of the PipelineRun.
func (l *timeline) noteRun(o *unstructured.Unstructured, at time.Time) {
	if status, _, _ := unstructured.NestedString(o.Object, "spec", "status"); status == "" && l.begin.IsZero() {
		l.begin = at
	}
	l.released = l.released || o.GetAnnotations()[annotationReleased] != ""
	if ended, ok, why := succeeded(o); ended && l.end.IsZero() {
		if l.end = at; !ok {
			l.failed = why
		}
	}
}

// noteTaskRun notes a state of a TaskRun.
func (l *timeline) noteTaskRun(o *unstructured.Unstructured, at time.Time) {
	t := l.task(o.GetLabels()[labelTask])
	t.pass(asked, at)
	if ended, _, _ := succeeded(o); ended {
		t.pass(done, at)
	}
}

// notePod notes a state of the pod of a task.
func (l *timeline) notePod(o *unstructured.Unstructured, at time.Time) {
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &pod); err != nil {
		return
	}
	l.task(pod.Labels[labelTask]).pass(reached(&pod), at)
}

// reached is how far a pod has come.
func reached(pod *corev1.Pod) mark {
	all := pod.Status.ContainerStatuses
	ended := func(c corev1.ContainerStatus) bool { return c.State.Terminated != nil }
	switch {
	case len(all) > 0 && !slices.ContainsFunc(all, func(c corev1.ContainerStatus) bool { return !ended(c) }):
		return over
	case slices.ContainsFunc(all, func(c corev1.ContainerStatus) bool { return c.State.Running != nil || ended(c) }):
		return begun
	case len(pod.Status.InitContainerStatuses) > 0 &&
		!slices.ContainsFunc(pod.Status.InitContainerStatuses, func(c corev1.ContainerStatus) bool { return !ended(c) }):
		return prepared
	case pod.Spec.NodeName != "":
		return placed
	}
	return podMade
}

// succeeded reads the condition of a PipelineRun or TaskRun.
func succeeded(o *unstructured.Unstructured) (ended, ok bool, why string) {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range list {
		c, _ := item.(map[string]any)
		if c["type"] != "Succeeded" || c["status"] == "Unknown" {
			continue
		}
		why, _ = c["message"].(string)
		return true, c["status"] == "True", why
	}
	return false, false, ""
}
