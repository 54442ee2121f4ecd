package queue_test

import (
	"errors"
	"testing"

	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// locks give every key the same fence, once they are held.
type locks struct {
	held  bool
	asked []string
}

func (l *locks) Fence(target, key string) (int64, error) {
	l.asked = append(l.asked, target+" "+key)
	if !l.held {
		return 0, errors.New("the lock is not held")
	}
	return 42, nil
}

func TestARunWithASetupKeyStartsByTheFenceOfItsTarget(t *testing.T) {
	w := newWorld(t, 8)
	l := &locks{}
	w.opts.Locks = l
	w.with(w.Client)
	w.submit("a", func(pr *tektonv1.PipelineRun) { pr.Annotations[contract.AnnotationSetupKey] = "llm-d/istio/v1" })
	for range 5 {
		_ = w.reconcile() // the start is refused each time
		w.act()
	}
	if pr := w.Run("a"); !pr.IsPending() || len(l.asked) == 0 || l.asked[0] != "local llm-d/istio/v1" {
		t.Fatalf("it started, asked %v", l.asked)
	}
	l.held = true
	w.settle()
	if pr := w.Run("a"); pr.IsPending() || pr.Annotations[contract.AnnotationFence] != "42" {
		t.Fatalf("status %q, %v", pr.Spec.Status, pr.Annotations)
	}
}

func TestARunWithoutASetupKeyNeedsNoFence(t *testing.T) {
	w := newWorld(t, 8)
	l := &locks{}
	w.opts.Locks = l
	w.with(w.Client)
	w.submit("a")
	w.settle()
	if pr := w.Run("a"); pr.IsPending() || pr.Annotations[contract.AnnotationFence] != "" || len(l.asked) > 0 {
		t.Fatalf("asked %v", l.asked)
	}
}
