package matrix

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// make makes the runs that are next; more says that some are left for another time. Points of which none may be made
// are unfit, each with the reason. A matrix that is told to end meanwhile is left for another look at it.
func (r *Reconciler) make(ctx context.Context, m *matrix) (unfit map[int]error, more bool, err error) {
	unfit = map[int]error{}
	for n, i := range m.next() {
		if n == batch {
			return unfit, true, nil
		}
		err := r.makeOne(ctx, m, i)
		why, ends := new(unfitError), new(endsError)
		switch {
		case errors.As(err, &why):
			unfit[i] = why
		case errors.As(err, &ends):
			return unfit, true, nil
		case err != nil:
			return unfit, false, fmt.Errorf("making the run of point %d: %w", i+1, err)
		}
	}
	return unfit, false, nil
}

// unfitError says why a point is no run that the controller makes.
type unfitError struct{ why string }

func (e *unfitError) Error() string { return e.why }

// makeOne makes one run and, before, its plan: a run that is let start finds it there. Whether the matrix goes on is
// asked for each: where the API server is busy, a batch takes half a minute.
func (r *Reconciler) makeOne(ctx context.Context, m *matrix, i int) error {
	plan, pr, err := m.points.Child(i)
	if err != nil {
		return err
	}
	if err := fit(pr); err != nil {
		return err
	}
	m.fillIn(pr, i)
	if err := r.plan(ctx, m.CustomRun, plan); err != nil {
		return err
	}
	if err := r.gate.MayStart(ctx, pr); err != nil {
		return err
	}
	err = r.client.Create(ctx, pr)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	there := &tektonv1.PipelineRun{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(pr), there); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !owned(there, m.UID) {
		return fmt.Errorf("there is another PipelineRun of its name, %q; delete that, and the matrix goes on", pr.Name)
	}
	return nil // the cache has not seen it yet
}

// fit refuses what the compiler never makes: whoever may write ConfigMaps must not have the controller make more. It is
// an *unfitError, since such a point stays as it is.
func fit(pr *tektonv1.PipelineRun) error {
	switch {
	case !pr.IsPending() || run.Queue(pr) == "" || !run.Ours(pr):
		return &unfitError{"it is no run that waits in a queue"}
	case len(pr.OwnerReferences)+len(pr.Finalizers) > 0:
		return &unfitError{"it has an owner or a finalizer, which the compiler never writes"}
	}
	if err := run.CheckSubmittedKeys(pr.Labels, pr.Annotations); err != nil {
		return &unfitError{err.Error()}
	}
	return nil
}

// fillIn makes pr, as it was compiled, the run of point i.
func (m *matrix) fillIn(pr *tektonv1.PipelineRun, i int) {
	pr.Name, pr.GenerateName, pr.Namespace = m.child(i), "", m.Namespace
	pr.Labels[contract.LabelMatrix] = nameOf(m.CustomRun)
	run.Identify(pr)
	annotate(pr, contract.AnnotationPoint, strconv.Itoa(i+1))
	for _, key := range []string{contract.AnnotationStarted, contract.AnnotationSource} {
		// Tekton has copied them from the parent
		if value := m.Annotations[key]; value != "" {
			annotate(pr, key, value)
		}
	}
	if m.mlflow != "" {
		annotate(pr, contract.AnnotationMLflowParent, m.mlflow)
	}
	pr.Finalizers = []string{contract.FinalizerMatrix}
	pr.OwnerReferences = []metav1.OwnerReference{ownedBy(m.CustomRun, true)}
}

// plan makes the ConfigMap of a plan, or makes the matrix an owner of the one that is there: it is named by its
// content.
func (r *Reconciler) plan(ctx context.Context, cr *tektonv1beta1.CustomRun, cm *corev1.ConfigMap) error {
	cm.Namespace = cr.Namespace
	cm.OwnerReferences = []metav1.OwnerReference{ownedBy(cr, false)}
	err := r.client.Create(ctx, cm)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	there := &corev1.ConfigMap{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(cm), there); err != nil {
		return err
	}
	if !there.DeletionTimestamp.IsZero() {
		return apierrors.NewConflict(corev1.Resource("configmaps"), cm.Name, fmt.Errorf("it is being deleted"))
	}
	return r.adopt(ctx, cr, there)
}
