package queue

import (
	"context"
	"fmt"
	"maps"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/constants"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
)

// frameworkOptions tell Kueue's framework which runs to look at: those with a queue label, or with a Workload of ours
// in the namespaces of runs.
func frameworkOptions(opts Options) []jobframework.Option {
	if !opts.Prebuilt {
		return nil
	}
	enabled := labels.SelectorFromSet(labels.Set{contract.LabelEnabled: "true"})
	return []jobframework.Option{
		jobframework.WithManageJobsWithoutQueueName(true),
		jobframework.WithManagedJobsNamespaceSelector(enabled),
	}
}

// prebuild makes the Workload of a run that waits, under the name that the run has for it.
func (a *Admission) prebuild(ctx context.Context, pr *tektonv1.PipelineRun) error {
	demand, err := run.Demand(pr)
	if err != nil {
		return err
	}
	made := a.prebuilt(pr, pr.Annotations[contract.AnnotationWorkload], podSets(demand))
	if err := a.client.Create(ctx, made); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making the Workload of run %q: %w", pr.Name, err)
	}
	return nil
}

// unlabel takes the queue label off a run, while it is pending and has no tasks that could inherit the label. A Kueue
// that manages pods would queue each of them too, behind the run that they belong to.
func (a *Admission) unlabel(ctx context.Context, pr *tektonv1.PipelineRun) error {
	before := client.MergeFromWithOptions(pr.DeepCopy(), client.MergeFromWithOptimisticLock{})
	withAnnotation(pr, run.AnnotationQueue, run.Queue(pr))
	withAnnotation(pr, contract.AnnotationWorkload, jobframework.GetWorkloadNameForOwnerWithGVK(pr.Name, pr.UID, gvk()))
	kept := maps.Clone(pr.Labels)
	delete(kept, contract.LabelQueue)
	pr.Labels = kept
	run.Identify(pr)
	if err := a.client.Patch(ctx, pr, before); err != nil {
		return fmt.Errorf("taking the queue label off run %q: %w", pr.Name, err)
	}
	return nil
}

func (a *Admission) prebuilt(pr *tektonv1.PipelineRun, name string, sets []kueue.PodSet) *kueue.Workload {
	controller := true
	owner := run.Owner(pr)
	owner.Controller = &controller
	return &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: pr.Namespace, OwnerReferences: []metav1.OwnerReference{owner},
			Labels:     map[string]string{constants.JobUIDLabel: string(pr.UID)},
			Finalizers: []string{kueue.ResourceInUseFinalizerName},
		},
		Spec: kueue.WorkloadSpec{QueueName: kueue.LocalQueueName(run.Queue(pr)), PodSets: sets},
	}
}

func admitted(wl *kueue.Workload) bool {
	return apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadAdmitted)
}
