package queue

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"bflow.dev/bflow/queue/access"
	"bflow.dev/bflow/queue/lock/keeper"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"k8s.io/utils/clock"
)

// Gate says whether an admitted run may start, when it is about to.
type Gate interface {
	// MayStart returns why a run must not start, nil where it may.
	MayStart(ctx context.Context, pr *tektonv1.PipelineRun) error
}

// Locks give runs that share the platform of a target their fence.
type Locks interface {
	// Fence is the number by which a run with a setup key may start on a target now, or why it may not.
	Fence(target, key string) (int64, error)
}

// starter lets admitted runs start.
type starter struct {
	access *access.Keeper
	gate   Gate // nil = always open
	locks  Locks
	clock  clock.PassiveClock
}

// start gives access to the target and changes pr so that the caller's one patch lets it start: the target and the
// time of admission, the finalizer, no pending status. The Secret comes first: a task that starts finds it. An error
// leaves the run pending, and the start is tried again.
func (s *starter) start(ctx context.Context, pr *tektonv1.PipelineRun, nodes map[string]string) error {
	if run.Cancelling(pr) {
		return fmt.Errorf("starting run %q: it is being cancelled", pr.Name)
	}
	name := nodes[contract.LabelTarget]
	if name == "" { // a run that asks for nothing gets no flavor
		name = run.Target(pr)
	}
	if _, err := s.access.Put(ctx, name, pr); err != nil {
		return fmt.Errorf("starting run %q: %w", pr.Name, err)
	}
	if s.gate != nil { // last: between its word and the start lies one patch
		if err := s.gate.MayStart(ctx, pr); err != nil {
			return fmt.Errorf("starting run %q: %w", pr.Name, err)
		}
	}
	if err := s.fence(name, pr); err != nil {
		return fmt.Errorf("starting run %q: %w", pr.Name, err)
	}
	run.Identify(pr) // for its tasks and their pods to inherit
	withLabel(pr, contract.LabelTarget, name)
	withAnnotation(pr, contract.AnnotationAdmittedTo, name)
	withAnnotation(pr, contract.AnnotationAdmitted, s.clock.Now().UTC().Format(time.RFC3339))
	delete(pr.Annotations, contract.AnnotationReason)
	withFinalizer(pr, contract.Finalizer)
	pr.Spec.Status = ""
	return nil
}

// fence writes down by which right the run uses the platform: its tasks compare it before they change anything there.
func (s *starter) fence(target string, pr *tektonv1.PipelineRun) error {
	key := keeper.KeyOf(pr)
	if key == "" || s.locks == nil {
		return nil
	}
	fence, err := s.locks.Fence(target, key)
	if err != nil {
		return err
	}
	withAnnotation(pr, contract.AnnotationFence, strconv.FormatInt(fence, 10))
	return nil
}
