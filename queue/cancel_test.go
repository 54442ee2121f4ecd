package queue_test

import (
	"testing"

	"bflow.dev/bflow/queue/retry"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// cancelled is the mark of somebody who wants the end of a run.
func cancelled(pr *tektonv1.PipelineRun) { pr.Annotations[contract.AnnotationCancel] = "now" }

func TestACancelBetweenTwoAttemptsIsHonoured(t *testing.T) {
	create, mark := "create PipelineRun a-a2", "patch PipelineRun a"
	for _, row := range []struct {
		name  string
		comes func(w *world, call string) bool // whether the cancel comes at a write: before it, or right after a create
		made  bool                             // the next attempt was, by then
	}{
		{"before anything of the next is made", nil, false},
		{"while the next is being made", func(_ *world, call string) bool { return call == create }, true},
		{"once it is made, and before that is written down", func(w *world, call string) bool {
			return call == mark && run.Released(w.Run("a")) && w.has("a-a2")
		}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, 4)
			w.submit("a")
			w.settle()
			came := false
			w.with(hooked(w.Client, hook{
				before: func(call string) error {
					if row.comes != nil && !came && row.comes(w, call) {
						came = true
						w.EditRun("a", cancelled)
					}
					return nil
				},
				after: func(string) error { return nil },
			}))
			w.evict("a", kueue.WorkloadEvictedByPreemption)
			if row.comes == nil {
				for !w.Run("a").IsDone() {
					w.Must(w.reconcile())
					w.act()
				}
				w.EditRun("a", cancelled)
			}
			w.settle()
			if row.comes != nil && !came {
				t.Fatal("the cancel never came")
			}
			if next := w.Run("a").Annotations[run.AnnotationNext]; next != retry.None || w.held() != 0 ||
				w.has("a-a2") != row.made {
				t.Errorf("next attempt %q:\n%s", next, w.snapshot(false))
			}
			if !row.made {
				return
			}
			if pr := w.Run("a-a2"); pr.Spec.Status != tektonv1.PipelineRunSpecStatusCancelled || run.Started(pr) ||
				!run.Cancelling(pr) {
				t.Errorf("the next attempt goes on: %q, annotations %v", pr.Spec.Status, pr.Annotations)
			}
		})
	}
}

// has says whether there is a run of that name.
func (w *world) has(name string) bool {
	w.T.Helper()
	err := w.Client.Get(w.T.Context(), types.NamespacedName{Namespace: ns, Name: name}, &tektonv1.PipelineRun{})
	if err != nil && !apierrors.IsNotFound(err) {
		w.T.Fatal(err)
	}
	return err == nil
}
