package matrix

import (
	"context"
	"fmt"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/tasks/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/kmeta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// aggregate starts the last task of a matrix whose parent was cancelled outright: Tekton runs no finally then, and nobody
// would sum up what was measured, nor end the MLflow run of the matrix.
func (r *Reconciler) aggregate(ctx context.Context, cr *tektonv1beta1.CustomRun) error {
	ref := parentOf(cr)
	if ref == nil {
		return nil
	}
	parent := &tektonv1.PipelineRun{}
	err := r.live.Get(ctx, client.ObjectKey{Namespace: cr.Namespace, Name: ref.Name}, parent)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading its parent: %w", err)
	}
	task := aggregateOf(parent)
	if task == nil || parent.UID != ref.UID || !parent.IsCancelled() || !parent.DeletionTimestamp.IsZero() {
		return nil
	}
	err = r.client.Create(ctx, task)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("starting task %s: %w", contract.MatrixAggregate, err)
	}
	r.events.Eventf(parent, nil, corev1.EventTypeNormal, "StartedAggregate", "Matrix", "Started %s, because the matrix was cancelled without its finally tasks", task.Name)
	return nil
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
		return &tektonv1.TaskRun{
			ObjectMeta: metav1.ObjectMeta{
				Name: kmeta.ChildName(parent.Name, "-"+task.Name+"-again"), Namespace: parent.Namespace,
				Labels: map[string]string{
					pipeline.PipelineRunLabelKey: parent.Name, pipeline.PipelineRunUIDLabelKey: string(parent.UID), pipeline.PipelineTaskLabelKey: task.Name,
					contract.LabelManagedBy: contract.ManagedBy, contract.LabelRole: contract.MatrixAggregate,
				},
				OwnerReferences: []metav1.OwnerReference{run.Owner(parent)},
			},
			Spec: tektonv1.TaskRunSpec{TaskSpec: &task.TaskSpec.TaskSpec, ServiceAccountName: spec.ServiceAccountName, PodTemplate: spec.PodTemplate},
		}
	}
	return nil
}
