package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"bflow.dev/bflow/runplan/contract"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// JobState is a Job and its pod at one time; either is nil where it is not there.
type JobState struct {
	Job *batchv1.Job
	Pod *corev1.Pod
}

// FollowJob sends the state of a Job now and after every change, until ctx ends. A server that is away, or that
// refuses, is asked again; told hears of every failure, and of every success as nil.
func (c *Cluster) FollowJob(ctx context.Context, name string, told func(error)) <-chan JobState {
	selector := contract.LabelJob + "=" + name
	podStates, jobStates := followAnyway[corev1.Pod](ctx, c, pods, selector, told),
		followAnyway[batchv1.Job](ctx, c, jobs, selector, told)
	out := make(chan JobState)
	go func() { // until ctx ends; out is closed when the two that it hears have ended as well
		defer close(out)
		defer drain(jobStates)
		defer drain(podStates)
		var now JobState
		seen := map[plural]bool{}
		for ctx.Err() == nil {
			select {
			case s, ok := <-podStates:
				if !ok { // ctx has ended
					return
				}
				now.Pod, seen[pods] = newest(s.items), true
			case s, ok := <-jobStates:
				if !ok {
					return
				}
				now.Job, seen[jobs] = nil, true
				if len(s.items) > 0 {
					now.Job = s.items[0]
				}
			case <-ctx.Done():
				return
			}
			if len(seen) < 2 {
				continue
			}
			select {
			case out <- now:
			case <-ctx.Done():
			}
		}
	}()
	return out
}

func newest(found []*corev1.Pod) (pod *corev1.Pod) {
	for _, p := range found {
		if pod == nil || p.CreationTimestamp.After(pod.CreationTimestamp.Time) {
			pod = p
		}
	}
	return pod
}

// Lost says why the Job will never come to an end of its own, "" while it may.
func (s JobState) Lost() string {
	switch {
	case s.Job == nil:
		return "its Job was deleted"
	case s.Pod != nil:
		return ""
	case s.is(batchv1.JobComplete) != nil:
		return "its pod was removed before its results were fetched"
	default:
		return s.Failure()
	}
}

// Failure says why the Job was given up, "" where it was not.
func (s JobState) Failure() string {
	c := s.is(batchv1.JobFailed, batchv1.JobFailureTarget)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("its Job failed (%s): %s", c.Reason, sentence(c.Message, c.Reason))
}

// OutOfTime says whether the Job was given up because it took too long.
func (s JobState) OutOfTime() bool {
	c := s.is(batchv1.JobFailed, batchv1.JobFailureTarget)
	return c != nil && c.Reason == batchv1.JobReasonDeadlineExceeded
}

// is returns the first of conditions that is true.
func (s JobState) is(conditions ...batchv1.JobConditionType) *batchv1.JobCondition {
	if s.Job == nil {
		return nil
	}
	for i := range s.Job.Status.Conditions {
		if c := &s.Job.Status.Conditions[i]; c.Status == corev1.ConditionTrue && slices.Contains(conditions, c.Type) {
			return c
		}
	}
	return nil
}

// Trouble follows the start of a pod; its zero value has seen nothing. Look returns why waiting longer makes no sense,
// "" while it may become better, and when to look again though nothing changes.
type Trouble struct{ judge judge }

// Look takes the pod in as it is at now.
func (t *Trouble) Look(now time.Time, pod *corev1.Pod) (string, time.Time) {
	fatal, wake := t.judge.look(now, []*corev1.Pod{pod}, nil)
	if fatal != nil {
		return fatal.reason + ": " + fatal.text, time.Time{}
	}
	return "", wake
}

// Phase is where a pod is on its way, in a few words.
func Phase(pod *corev1.Pod) string { return phase(pod) }

// WhyNoPod is what the cluster says last about a Job that has no pod, "" where it says nothing.
func (c *Cluster) WhyNoPod(ctx context.Context, job string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	list, err := c.eventsOf(ctx, job)
	if err != nil {
		return ""
	}
	var text string
	var at time.Time
	for _, e := range list {
		if e.Type == corev1.EventTypeWarning && !last(e).Before(at) {
			text, at = e.Reason+": "+sentence(e.Message), last(e)
		}
	}
	return text
}

// FollowLog opens the log of a container, followed, from a time on (zero: from its beginning). Every line begins with
// its time in RFC 3339, with fractions, and a space.
func (c *Cluster) FollowLog(ctx context.Context, pod, container string, since time.Time) (io.ReadCloser, error) {
	request := c.core.Get().Namespace(c.Namespace).Resource(string(pods)).Name(pod).SubResource("log").
		Param("container", container).Param("follow", "true").Param("timestamps", "true").MaxRetries(0)
	if !since.IsZero() {
		request = request.Param("sinceTime", since.UTC().Format(time.RFC3339))
	}
	stream, err := request.Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("following the log of container %q of pod %q: %w", container, pod, err)
	}
	return stream, nil
}

// TaskRunGoesOn says whether Tekton still wants the TaskRun of a step: then its pod ends for another reason, and Tekton
// makes another one. An error says that nobody knows.
func (c *Cluster) TaskRunGoesOn(ctx context.Context, name string) (bool, error) {
	body,
		err := c.core.Get().AbsPath("/apis/tekton.dev/v1").Namespace(c.Namespace).Resource("taskruns").Name(name).Do(
		ctx).Raw()
	if err != nil {
		return false, fmt.Errorf("asking for TaskRun %q: %w", name, err)
	}
	var t struct {
		Metadata struct{ DeletionTimestamp *time.Time }
		Spec     struct{ Status, Timeout string }
		Status   struct {
			StartTime  *time.Time
			Conditions []struct{ Type, Status string }
		}
	}
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&t); err != nil {
		return false, fmt.Errorf("asking for TaskRun %q: %w", name, err)
	}
	for _, condition := range t.Status.Conditions {
		if condition.Type == "Succeeded" && condition.Status != "Unknown" {
			return false, nil
		}
	}
	limit, err := time.ParseDuration(t.Spec.Timeout)
	if err == nil && limit > 0 && t.Status.StartTime != nil && time.Since(*t.Status.StartTime) > limit-clocks {
		return false, nil // Tekton ends the pod first, and says why a moment later
	}
	return t.Metadata.DeletionTimestamp == nil && t.Spec.Status == "", nil
}

// clocks is how far apart those of two nodes may be.
const clocks = 5 * time.Second
