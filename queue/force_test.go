package queue_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/release"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// disconnect lets the API server of the target answer nothing, while the hub works; the sweeper it returns sees the
// same.
func (w *world) disconnect() (back func(), sweeper *release.Sweeper) {
	w.T.Helper()
	gone := true
	m := queuetest.Metrics(w.T)
	live := interceptor.NewClient(w.Client, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if gone {
				return errors.New("no route to host")
			}
			return c.List(ctx, list, opts...)
		},
	})
	opts := release.Options{Targets: target.NewRegistry(w.local(live)), Access: w.opts.Access, Metrics: m,
		Log: slog.New(slog.DiscardHandler), Clock: w.Clock, Hub: "hub"}
	w.release = release.NewReconciler(w.Client, w.Client, w.events, opts)
	return func() { gone = false }, release.NewSweeper(w.Client, w.Client, opts)
}

func (w *world) dirty() string { return w.marked(contract.AnnotationDirty) }

func (w *world) owed() string { return w.marked(contract.AnnotationOwed) }

// marked is what is written down at the target.
func (w *world) marked(key string) string {
	w.T.Helper()
	flavor := &kueue.ResourceFlavor{}
	w.Must(w.Client.Get(w.T.Context(), types.NamespacedName{Name: "local"}, flavor))
	return flavor.Annotations[key]
}

func (w *world) sweep(s *release.Sweeper) {
	w.T.Helper()
	_, err := s.Reconcile(w.T.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "local"}})
	w.Must(err)
}

// rounds let everybody act some times.
func (w *world) rounds(n int) {
	w.T.Helper()
	for range n {
		w.Must(w.reconcile())
		w.act()
		w.Clock.Step(time.Second)
	}
}

func TestATargetThatDoesNotAnswerKeepsAQuotaForTenMinutesAndIsCleanedWhenItIsBack(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	back, sweeper := w.disconnect()
	w.EditRun("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled })
	w.rounds(5)
	if pr := w.Run("a"); run.Released(pr) || w.held() != 4 ||
		!strings.Contains(pr.Annotations[contract.AnnotationReason], "no route to host") {
		t.Fatalf("quota %d, reason %q", w.held(), w.Run("a").Annotations[contract.AnnotationReason])
	}
	w.Clock.Step(11 * time.Minute)
	w.rounds(5)
	if !run.Released(w.Run("a")) || w.held() != 0 || w.dirty() != "bench/a" || !w.saw("ForcedRelease") {
		t.Fatalf("dirty %q:\n%s", w.dirty(), w.snapshot(false))
	}
	w.sweep(sweeper)
	if w.dirty() == "" {
		t.Fatal("a target that nobody could look at is clean")
	}
	back()
	for range 3 {
		w.sweep(sweeper)
		w.act()
	}
	var engines appsv1.DeploymentList
	w.Must(w.Client.List(t.Context(), &engines))
	if w.dirty() != "" || len(engines.Items) != 0 {
		t.Fatalf("dirty %q, %d engines", w.dirty(), len(engines.Items))
	}
}

func TestCancelledByForceARunGivesItsQuotaBackAtOnce(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	w.disconnect()
	w.EditRun("a", func(pr *tektonv1.PipelineRun) {
		pr.Annotations[contract.AnnotationForce] = "now"
		pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled
	})
	w.rounds(5)
	if !run.Released(w.Run("a")) || w.held() != 0 || w.dirty() != "bench/a" || !w.saw("ForcedRelease") ||
		w.saw("StartedFinish") {
		t.Fatalf("dirty %q:\n%s", w.dirty(), w.snapshot(false))
	}
}

func TestByForceARunOnATargetThatAnswersLeavesNothing(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	back, sweeper := w.disconnect()
	back()
	w.EditRun("a", func(pr *tektonv1.PipelineRun) {
		pr.Annotations[contract.AnnotationForce] = "now"
		pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled
	})
	w.rounds(3)
	w.sweep(sweeper)
	w.act()
	w.sweep(sweeper)
	if !run.Released(w.Run("a")) || w.held() != 0 || w.dirty() != "" || strings.Contains(w.snapshot(false), "engine") {
		t.Fatalf("dirty %q:\n%s", w.dirty(), w.snapshot(false))
	}
}

func TestARunWhoseTargetIsForgottenIsReleasedByForce(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	w.disconnect()
	m := queuetest.Metrics(w.T)
	w.release = release.NewReconciler(w.Client, w.Client, w.events, release.Options{
		Targets: target.NewRegistry(), Access: w.opts.Access, Metrics: m, Log: slog.New(slog.DiscardHandler), Clock: w.Clock})
	w.rounds(2)
	w.EditRun("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled })
	w.rounds(3)
	if run.Released(w.Run("a")) || w.held() != 4 {
		t.Fatal("its quota is gone at once")
	}
	w.Clock.Step(11 * time.Minute)
	w.rounds(2)
	if !run.Released(w.Run("a")) || w.held() != 0 {
		t.Fatalf("it is held for ever:\n%s", w.snapshot(false))
	}
}

func TestObjectsOfARunOfThisNameOfAnotherHubStay(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	back, _ := w.disconnect()
	back()
	labels := engineLabels("a")
	labels[contract.LabelHub] = "other"
	w.pod("theirs", labels)
	w.EditRun("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelledRunFinally })
	w.settle()
	if !run.Released(w.Run("a")) {
		t.Fatalf("it waits for what is not its own:\n%s", w.snapshot(false))
	}
	w.Must(w.Client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "theirs"}, &corev1.Pod{}))
}

// TestATargetIsDirtyWhileATaskPodOfTheRunGoesOn: the pod of provision, on a node that does not answer, may make a
// server any moment.
func TestATargetIsDirtyWhileATaskPodOfTheRunGoesOn(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	back, sweeper := w.disconnect()
	back()
	w.EditRun("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled })
	goesOn := func() {
		w.pod("a-provision-pod", map[string]string{pipeline.PipelineRunLabelKey: "a", pipeline.TaskRunLabelKey: "a-provision",
			contract.LabelRun: "a"})
	}
	for range 5 {
		w.rounds(1)
		goesOn()
	}
	w.Clock.Step(11 * time.Minute)
	w.Must(w.reconcile())
	goesOn()
	w.Must(w.reconcile())
	if !run.Released(w.Run("a")) || w.held() != 0 || w.dirty() != "bench/a" || !w.saw("ForcedRelease") {
		t.Fatalf("dirty %q:\n%s", w.dirty(), w.snapshot(false))
	}
	goesOn()
	w.sweep(sweeper)
	if w.dirty() == "" {
		t.Fatal("its mark is gone while the pod goes on")
	}
	w.Must(
		w.Client.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a-provision-pod"}}))
	w.sweep(sweeper)
	if w.dirty() != "" {
		t.Fatalf("dirty %q:\n%s", w.dirty(), w.snapshot(false))
	}
}

// TestTheMarkOfARunThatIsNotReleasedStays: it is written first, so that nothing starts between it and the release.
// The target answers, and nothing of the run is there any more.
func TestTheMarkOfARunThatIsNotReleasedStays(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	back, sweeper := w.disconnect()
	back()
	flavor := &kueue.ResourceFlavor{}
	w.Must(w.Client.Get(t.Context(), types.NamespacedName{Name: "local"}, flavor))
	flavor.Annotations = map[string]string{contract.AnnotationDirty: "bench/a"}
	w.Must(w.Client.Update(t.Context(), flavor))
	w.removeEngine("a")
	w.Must(w.Client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(ns)))
	w.sweep(sweeper)
	if w.dirty() != "bench/a" {
		t.Fatal("the mark is gone before the release")
	}
}

// TestATokenThatCannotBeEndedIsOwed: whoever has it may make a server, so nothing starts there until it is ended.
func TestATokenThatCannotBeEndedIsOwed(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	back, sweeper := w.disconnect()
	back()
	w.lender.away = true
	w.EditRun("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelledRunFinally })
	w.rounds(10)
	if pr := w.Run("a"); run.Released(pr) || !strings.Contains(pr.Annotations[contract.AnnotationReason],
		"its token there to be ended: no route to host") {
		t.Fatalf("reason %q:\n%s", w.Run("a").Annotations[contract.AnnotationReason], w.snapshot(false))
	}
	w.Clock.Step(11 * time.Minute)
	w.rounds(3)
	if !run.Released(w.Run("a")) || w.held() != 0 || w.dirty() != "bench/a" || w.owed() != "bench/bflow-grant-a" {
		t.Fatalf("dirty %q, owed %q:\n%s", w.dirty(), w.owed(), w.snapshot(false))
	}
	w.sweep(sweeper)
	if w.dirty() == "" || w.owed() == "" {
		t.Fatal("the target is clean, and the token is good")
	}
	w.lender.away = false
	w.sweep(sweeper)
	if w.dirty() != "" || w.owed() != "" || len(w.lender.lent) > 0 {
		t.Fatalf("dirty %q, owed %q, lent %v", w.dirty(), w.owed(), w.lender.lent)
	}
}
