package queue

import (
	"context"
	"fmt"
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/tasks/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// starter lets admitted runs start.
type starter struct {
	client  client.Client
	targets target.Targets
	clock   clock.PassiveClock
}

// start makes the way to the target and changes pr so that the caller's one patch lets it start: the target and the
// time of admission, the finalizer, no pending status. The Secret comes first: a task that starts finds it. An error
// leaves the run pending, and the start is tried again.
func (s *starter) start(ctx context.Context, pr *tektonv1.PipelineRun, nodes map[string]string) error {
	if run.Cancelling(pr) {
		return fmt.Errorf("letting run %q start: it is being cancelled", pr.Name)
	}
	name := nodes[contract.LabelTarget]
	if name == "" { // a run that asks for nothing gets no flavor
		name = run.Target(pr)
	}
	found, err := s.targets.Find(name)
	if err != nil {
		return fmt.Errorf("letting run %q start: %w", pr.Name, err)
	}
	if err := s.putSecret(ctx, found, pr); err != nil {
		return fmt.Errorf("letting run %q start: %w", pr.Name, err)
	}
	run.Identify(pr) // for its tasks and their pods to inherit
	withLabel(pr, contract.LabelTarget, name)
	withAnnotation(pr, contract.AnnotationAdmitted, s.clock.Now().UTC().Format(time.RFC3339))
	delete(pr.Annotations, contract.AnnotationReason)
	withFinalizer(pr, contract.Finalizer)
	pr.Spec.Status = ""
	return nil
}

// putSecret replaces what is there: the Secret of an attempt before, or of a start that died half-way. It reads none,
// because nobody may read the Secrets beside the runs.
func (s *starter) putSecret(ctx context.Context, t target.Target, pr *tektonv1.PipelineRun) error {
	secret := t.Secret(pr.Namespace, run.ID(pr), ownerOf(pr))
	err := s.client.Create(ctx, secret.DeepCopy())
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := s.client.Delete(ctx, secret.DeepCopy()); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return s.client.Create(ctx, secret)
}

// ownerOf lets what belongs to a run go with it.
func ownerOf(pr *tektonv1.PipelineRun) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: tektonv1.SchemeGroupVersion.String(), Kind: gvk().Kind, Name: pr.Name, UID: pr.UID,
	}
}
