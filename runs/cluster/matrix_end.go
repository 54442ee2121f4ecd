package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Cancel asks for the end of a matrix. Its mark comes with the same change: from then on no run of it is made or
// let start. Tekton tells the controller, which ends the runs: first those that wait. With force none of their tasks
// runs any more.
func (ms Matrices) Cancel(ctx context.Context, m *Matrix, force bool, now time.Time) (Ended, error) {
	pr := &m.Parent
	for {
		settled := pr.IsDone() && (m.Custom == nil || m.Custom.IsDone())
		if settled {
			return WasOver, nil
		}
		annotations := map[string]string{contract.AnnotationCancel: now.UTC().Format(time.RFC3339)}
		if force {
			annotations[contract.AnnotationForce] = "true"
		}
		change := map[string]any{"metadata": map[string]any{"resourceVersion": pr.ResourceVersion,
			"annotations": annotations}}
		switch {
		case pr.IsDone() || pr.IsCancelled():
		case force:
			change["spec"] = map[string]any{"status": tektonv1.PipelineRunSpecStatusCancelled}
		default:
			change["spec"] = map[string]any{"status": tektonv1.PipelineRunSpecStatusCancelledRunFinally}
		}
		err := ms.c.api.Merge(ctx, pipelineRuns(pr.Namespace, pr.Name), change, kube.Write{})
		if !apierrors.IsConflict(err) {
			return WasAlive, wrap("cancelling matrix "+m.Name(), err)
		}
		if pr, err = kube.Get[tektonv1.PipelineRun](ctx, ms.c.api, pipelineRuns(pr.Namespace, pr.Name)); err != nil {
			return "", fmt.Errorf("cancelling matrix %s: %w", m.Name(), err)
		}
	}
}

// Delete deletes a matrix with all its runs, and waits until it is gone: its controller holds it until nothing of
// any run is left on a target. One that has not ended is refused with ErrAlive unless force.
func (ms Matrices) Delete(ctx context.Context, m *Matrix, force bool, held func(why string)) error {
	status, err := m.Status()
	if err != nil {
		return err
	}
	if status.Alive && !force {
		return fmt.Errorf("deleting matrix %s: %w", m.Name(), ErrAlive)
	}
	if err := ms.mark(ctx, m); err != nil {
		return err
	}
	return ms.awaitGone(ctx, m, func() {
		held(fmt.Sprintf("%s keeps it until all objects of its runs on targets are deleted", contract.AccountController))
	})
}

// DeleteOrphan deletes a matrix that no controller looks after: remove deletes one of its runs after another, and
// then our finalizers are taken off its CustomRun and its parent. That takes the right to delete the namespace.
func (ms Matrices) DeleteOrphan(ctx context.Context, m *Matrix, remove func(*Run) error,
	held func(why string)) error {
	if err := ms.mark(ctx, m); err != nil { // first: a controller that comes back makes no more runs of it
		return err
	}
	runs, err := ms.Runs(ctx, m)
	if err != nil {
		return fmt.Errorf("deleting matrix %s: %w", m.Name(), err)
	}
	for i := range runs {
		if err := remove(&runs[i]); err != nil {
			return err
		}
	}
	if m.Custom != nil {
		at := kube.CustomRuns(m.Namespace(), m.Custom.Name)
		if _, err := ms.c.api.Delete(ctx, at, kube.Deletion{UID: m.Custom.UID}); err != nil {
			return fmt.Errorf("deleting CustomRun %s of matrix %s: %w", m.Custom.Name, m.Name(), err)
		}
		if err := letGo(ctx, ms.c.api, at); err != nil {
			return fmt.Errorf("removing the finalizers of matrix %s: %w", m.Name(), err)
		}
	}
	if err := letGo(ctx, ms.c.api, pipelineRuns(m.Namespace(), m.Name())); err != nil {
		return fmt.Errorf("removing the finalizers of matrix %s: %w", m.Name(), err)
	}
	return ms.awaitGone(ctx, m, func() { held("what belongs to it is being deleted") })
}

// FindLeft returns what is left of a matrix whose parent was deleted: its CustomRun, which our finalizer holds.
// It is nil where nothing is. Of the parent only its name is known.
func (ms Matrices) FindLeft(ctx context.Context, name string, namespaces ...string) (*Matrix, error) {
	var denied error
	for _, namespace := range namespaces {
		of := kube.Labels(matrices + "," + pipeline.PipelineRunLabelKey + "=" + name)
		customs, err := kube.List[tektonv1beta1.CustomRun](ctx, ms.c.api, kube.CustomRuns(namespace, ""), of)
		switch {
		case apierrors.IsForbidden(err):
			denied = errors.Join(denied, err)
			continue
		case err != nil:
			return nil, fmt.Errorf("looking for what is left of matrix %s: %w", name, err)
		case len(customs) == 0:
			return nil, nil
		}
		m := &Matrix{Custom: &customs[0]}
		m.Parent.Name, m.Parent.Namespace = name, customs[0].Namespace
		return m, nil
	}
	return nil, denied
}

// mark tells the API server to delete the parent of a matrix, and its summary.
func (ms Matrices) mark(ctx context.Context, m *Matrix) error {
	_, err := ms.c.api.Delete(ctx, pipelineRuns(m.Namespace(), m.Name()), kube.Deletion{UID: m.Parent.UID})
	if err != nil {
		return fmt.Errorf("deleting matrix %s: %w", m.Name(), err)
	}
	return wrap("deleting the summary of matrix "+m.Name(), deleteSummary(ctx, ms.c.api, m.Namespace(), m.Name()))
}

// awaitGone waits until nothing of a matrix is left: its controller lets its CustomRun go last, and the cluster
// collects its runs after it.
func (ms Matrices) awaitGone(ctx context.Context, m *Matrix, held func()) error {
	var err error
	if m.Custom != nil {
		err = awaitGone(ctx, ms.c.api, kube.CustomRuns(m.Namespace(), ""), kube.Named(m.Custom.Name), m.Custom.UID, held)
	}
	runs := kube.Labels(contract.LabelMatrix + "=" + m.Name())
	err = errors.Join(err, awaitGone(ctx, ms.c.api, pipelineRuns(m.Namespace(), ""), runs, "", held))
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("waiting until matrix %s is gone: %w; its deletion continues", m.Name(), err)
	}
	return err
}
