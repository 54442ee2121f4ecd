package queue

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"bflow.dev/bflow/queue/run"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/podset"
)

// podSet is the name of the one pod set of a run's Workload.
const podSet = "run"

// job is a PipelineRun as Kueue sees it: one pod set of one pod that asks for all that the run declares. Which pods
// really hold the devices, and on which cluster, is none of Kueue's business.
type job struct {
	*tektonv1.PipelineRun
	starter *starter
}

var (
	_ jobframework.GenericJob             = (*job)(nil)
	_ jobframework.JobWithCustomStop      = (*job)(nil)
	_ jobframework.JobWithSkip            = (*job)(nil)
	_ jobframework.JobWithReclaimablePods = (*job)(nil)
	_ jobframework.TopLevelJob            = (*job)(nil)

	_ jobframework.JobWithCustomQueueNameChange = (*job)(nil)
)

// gvk of a job; a method and no variable, because packages hold no state.
func gvk() schema.GroupVersionKind { return tektonv1.SchemeGroupVersion.WithKind("PipelineRun") }

func (j *job) Object() client.Object { return j.PipelineRun }

func (j *job) GVK() schema.GroupVersionKind { return gvk() }

// IsTopLevel is always true: what owns a run (a matrix) holds no quota.
func (j *job) IsTopLevel() bool { return true }

// Skip leaves foreign runs alone. A run that is deleted keeps its quota until it is released: Kueue would give it back
// at once, though a finalizer holds the run. An empty object is a run that is gone: its Workload must be let go.
func (j *job) Skip(context.Context) bool {
	if j.UID == "" {
		return false
	}
	return !run.Ours(j.PipelineRun) || !j.DeletionTimestamp.IsZero() && run.Holding(j.PipelineRun)
}

func (j *job) IsSuspended() bool { return j.IsPending() }

// Suspend is never reached: Stop takes its place, because a run that has begun cannot become pending again.
func (j *job) Suspend() {}

// IsActive keeps the quota of an evicted run, and keeps a second Workload from being made.
func (j *job) IsActive() bool { return run.Holding(j.PipelineRun) }

// PodsReady is asked only where Kueue waits for pods, which ours does not.
func (j *job) PodsReady(context.Context, client.Client) bool { return true }

// Finished withholds the end of a run that has begun until nothing of it is left on its target.
func (j *job) Finished(context.Context) (message string, success, finished bool) {
	if !j.IsDone() || run.Holding(j.PipelineRun) {
		return "", false, false
	}
	if c := j.Status.GetCondition("Succeeded"); c != nil {
		message = c.Message
	}
	return message, j.IsSuccessful(), true
}

func (j *job) PodSets(context.Context, client.Client) ([]kueue.PodSet, error) {
	demand, err := run.Demand(j.PipelineRun)
	if err != nil {
		return nil, err
	}
	return podSets(demand), nil
}

func podSets(demand corev1.ResourceList) []kueue.PodSet {
	return []kueue.PodSet{{
		Name:  podSet,
		Count: 1,
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: podSet, Resources: corev1.ResourceRequirements{Requests: demand}}},
		}},
	}}
}

// ReclaimablePods gives the quota back as soon as no pod of the run holds a device: results are computed afterwards.
func (j *job) ReclaimablePods(context.Context, client.Client) ([]kueue.ReclaimablePod, error) {
	if !run.Freed(j.PipelineRun) {
		return nil, nil
	}
	return []kueue.ReclaimablePod{{Name: podSet, Count: 1}}, nil
}

// RestorePodSetsInfo has nothing to restore: a start changes only what tells of the start.
func (j *job) RestorePodSetsInfo(context.Context, []podset.PodSetInfo) bool { return false }

// RunWithPodSetsInfo lets the run start. What it changes in the object is one patch of the caller's.
func (j *job) RunWithPodSetsInfo(ctx context.Context, _ client.Client, infos []podset.PodSetInfo) error {
	if len(infos) != 1 {
		return podset.BadPodSetsInfoLenError(1, len(infos))
	}
	return j.starter.start(ctx, j.PipelineRun, infos[0].NodeSelector)
}

// CustomQueueNameChange follows the queue of a waiting run, wherever its name is written.
func (j *job) CustomQueueNameChange(ctx context.Context, c client.Client, wl *kueue.Workload) error {
	queue := kueue.LocalQueueName(run.Queue(j.PipelineRun))
	if wl.Spec.QueueName == queue {
		return nil
	}
	before := client.MergeFrom(wl.DeepCopy())
	wl.Spec.QueueName = queue
	if err := c.Patch(ctx, wl, before); err != nil {
		return fmt.Errorf("moving run %q to queue %q: %w", j.Name, queue, err)
	}
	return nil
}

func withAnnotation(o client.Object, key, value string) {
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	o.SetAnnotations(annotations)
}

func withLabel(o client.Object, key, value string) {
	labels := maps.Clone(o.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	o.SetLabels(labels)
}

func withFinalizer(o client.Object, finalizer string) {
	if !slices.Contains(o.GetFinalizers(), finalizer) {
		o.SetFinalizers(append(slices.Clone(o.GetFinalizers()), finalizer))
	}
}
