package matrix

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/kmeta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	aggregateTimeout  = 10 * time.Minute
	aggregateEndGrace = 2 * time.Minute // beside its own time: for Tekton to end it
)

// aggregate starts the last task of a matrix whose parent was cancelled outright or deleted: Tekton runs no finally
// then, and nobody would sum up what was measured, nor end the MLflow run of the matrix. A deleted parent that is
// kept for that waits for the end of the task.
func (r *Reconciler) aggregate(ctx context.Context, cr *tektonv1beta1.CustomRun) (wait bool, err error) {
	parent, err := r.parent(ctx, cr)
	if err != nil || parent == nil {
		return false, err
	}
	task := aggregateOf(parent)
	deleted := !parent.DeletionTimestamp.IsZero()
	if task == nil || deleted && !guarded(parent) || !deleted && !parent.IsCancelled() {
		return false, nil
	}
	made := &tektonv1.TaskRun{}
	err = r.live.Get(ctx, client.ObjectKeyFromObject(task), made)
	switch {
	case apierrors.IsNotFound(err):
		return r.startAggregate(ctx, parent, task)
	case err != nil:
		return false, fmt.Errorf("reading task %s: %w", contract.MatrixAggregate, err)
	}
	return deleted && !made.IsDone() && r.clock.Since(made.CreationTimestamp.Time) < aggregateTimeout+aggregateEndGrace,
		nil
}

func (r *Reconciler) startAggregate(ctx context.Context, parent *tektonv1.PipelineRun,
	task *tektonv1.TaskRun) (wait bool, err error) {
	deleted, why := !parent.DeletionTimestamp.IsZero(), "was cancelled without its finally tasks"
	if deleted {
		why = "is deleted"
	}
	err = r.client.Create(ctx, task)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("starting task %s: %w", contract.MatrixAggregate, err)
	}
	r.events.Eventf(parent, nil, corev1.EventTypeNormal, "StartedAggregate", "Matrix", "Started %s, because the matrix %s",
		task.Name, why)
	return deleted, nil
}

// keep guards the parent of a matrix that has an MLflow run, which is to be ended before the parent goes.
func (r *Reconciler) keep(ctx context.Context, parent *tektonv1.PipelineRun, mlflow string) error {
	if mlflow == "" || parent == nil || !parent.DeletionTimestamp.IsZero() || guarded(parent) {
		return nil
	}
	return r.change(ctx, parent, func(pr *tektonv1.PipelineRun) {
		pr.Finalizers = append(slices.Clone(pr.Finalizers), contract.FinalizerMatrix)
	})
}

// letParentGo takes our finalizer off the parent. The last task of a deleted one has no owner to go with.
func (r *Reconciler) letParentGo(ctx context.Context, cr *tektonv1beta1.CustomRun) error {
	parent, err := r.parent(ctx, cr)
	if err != nil || parent == nil || !guarded(parent) {
		return err
	}
	if !parent.DeletionTimestamp.IsZero() {
		task := &tektonv1.TaskRun{ObjectMeta: metav1.ObjectMeta{Namespace: parent.Namespace, Name: aggregateName(parent)}}
		if err := client.IgnoreNotFound(r.client.Delete(ctx, task)); err != nil {
			return fmt.Errorf("deleting task %s: %w", contract.MatrixAggregate, err)
		}
	}
	return r.dropFinalizers(ctx, []tektonv1.PipelineRun{*parent})
}

// parent reads the PipelineRun that a matrix stands in; nil when there is none any more.
func (r *Reconciler) parent(ctx context.Context, cr *tektonv1beta1.CustomRun) (*tektonv1.PipelineRun, error) {
	ref := parentOf(cr)
	if ref == nil {
		return nil, nil
	}
	parent := &tektonv1.PipelineRun{}
	err := r.live.Get(ctx, client.ObjectKey{Namespace: cr.Namespace, Name: ref.Name}, parent)
	switch {
	case apierrors.IsNotFound(err) || err == nil && parent.UID != ref.UID:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading its parent: %w", err)
	}
	return parent, nil
}

// aggregateOf is the TaskRun that Tekton would have made for the finally of parent; nil when its Pipeline has none.
func aggregateOf(parent *tektonv1.PipelineRun) *tektonv1.TaskRun {
	if parent.Spec.PipelineSpec == nil {
		return nil
	}
	for _, task := range parent.Spec.PipelineSpec.Finally {
		if task.Name != contract.MatrixAggregate || task.TaskSpec == nil {
			continue
		}
		spec := parent.GetTaskRunSpec(task.Name)
		tr := &tektonv1.TaskRun{
			ObjectMeta: metav1.ObjectMeta{
				Name: aggregateName(parent), Namespace: parent.Namespace,
				Labels: map[string]string{
					pipeline.PipelineRunLabelKey: parent.Name, pipeline.PipelineRunUIDLabelKey: string(parent.UID),
					pipeline.PipelineTaskLabelKey: task.Name,
					contract.LabelManagedBy:       contract.ManagedBy, contract.LabelRole: contract.MatrixAggregate,
				},
			},
			Spec: tektonv1.TaskRunSpec{TaskSpec: &task.TaskSpec.TaskSpec, ServiceAccountName: spec.ServiceAccountName,
				PodTemplate: spec.PodTemplate,
				Timeout:     &metav1.Duration{Duration: aggregateTimeout}},
		}
		maps.Copy(tr.Labels, task.TaskSpec.Metadata.Labels) // it asks for a token by one of them
		if parent.DeletionTimestamp.IsZero() {              // what a deleted one owns may go before it
			tr.OwnerReferences = []metav1.OwnerReference{run.Owner(parent)}
		}
		return tr
	}
	return nil
}

func aggregateName(parent *tektonv1.PipelineRun) string {
	return kmeta.ChildName(parent.Name, "-"+contract.MatrixAggregate+"-again")
}
