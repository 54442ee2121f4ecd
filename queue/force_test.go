package queue_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/release"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	"github.com/prometheus/client_golang/prometheus"
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
	w.t.Helper()
	gone := true
	m, err := metrics.New(prometheus.NewRegistry())
	w.must(err)
	live := interceptor.NewClient(w.client, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if gone {
				return errors.New("no route to host")
			}
			return c.List(ctx, list, opts...)
		},
	})
	opts := release.Options{Targets: target.NewRegistry(w.local(live)), Ways: w.opts.Access, Metrics: m, Log: slog.New(slog.DiscardHandler), Clock: w.clock, Hub: "hub"}
	w.release = release.NewReconciler(w.client, w.client, w.events, opts)
	return func() { gone = false }, release.NewSweeper(w.client, w.client, opts)
}

func (w *world) dirty() string { return w.marked(contract.AnnotationDirty) }

func (w *world) owed() string { return w.marked(contract.AnnotationOwed) }

// marked is what is written down at the target.
func (w *world) marked(key string) string {
	w.t.Helper()
	flavor := &kueue.ResourceFlavor{}
	w.must(w.client.Get(w.t.Context(), types.NamespacedName{Name: "local"}, flavor))
	return flavor.Annotations[key]
}

func (w *world) sweep(s *release.Sweeper) {
	w.t.Helper()
	_, err := s.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "local"}})
	w.must(err)
}

// rounds let everybody act some times.
func (w *world) rounds(n int) {
	w.t.Helper()
	for range n {
		w.must(w.reconcile())
		w.act()
		w.clock.Step(time.Second)
	}
}

func TestATargetThatDoesNotAnswerKeepsAQuotaForTenMinutesAndIsCleanedWhenItIsBack(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	back, sweeper := w.disconnect()
	w.edit("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled })
	w.rounds(5)
	if pr := w.run("a"); run.Released(pr) || w.held() != 4 || !strings.Contains(pr.Annotations[contract.AnnotationReason], "no route to host") {
		t.Fatalf("quota %d, reason %q", w.held(), w.run("a").Annotations[contract.AnnotationReason])
	}
	w.clock.Step(11 * time.Minute)
	w.rounds(5)
	if !run.Released(w.run("a")) || w.held() != 0 || w.dirty() != "bench/a" || !w.saw("ForcedRelease") {
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
	w.must(w.client.List(t.Context(), &engines))
	if w.dirty() != "" || len(engines.Items) != 0 {
		t.Fatalf("dirty %q, %d engines", w.dirty(), len(engines.Items))
	}
}

func TestCancelledByForceARunGivesItsQuotaBackAtOnce(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	w.disconnect()
	w.edit("a", func(pr *tektonv1.PipelineRun) {
		pr.Annotations[contract.AnnotationForce] = "now"
		pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled
	})
	w.rounds(5)
	if !run.Released(w.run("a")) || w.held() != 0 || w.dirty() != "bench/a" || !w.saw("ForcedRelease") || w.saw("StartedFinish") {
		t.Fatalf("dirty %q:\n%s", w.dirty(), w.snapshot(false))
	}
}

func TestByForceARunOnATargetThatAnswersLeavesNothing(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	back, sweeper := w.disconnect()
	back()
	w.edit("a", func(pr *tektonv1.PipelineRun) {
		pr.Annotations[contract.AnnotationForce] = "now"
		pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled
	})
	w.rounds(3)
	w.sweep(sweeper)
	w.act()
	w.sweep(sweeper)
	if !run.Released(w.run("a")) || w.held() != 0 || w.dirty() != "" || strings.Contains(w.snapshot(false), "engine") {
		t.Fatalf("dirty %q:\n%s", w.dirty(), w.snapshot(false))
	}
}

func TestARunWhoseTargetIsForgottenIsReleasedByForce(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	w.disconnect()
	m, err := metrics.New(prometheus.NewRegistry())
	w.must(err)
	w.release = release.NewReconciler(w.client, w.client, w.events, release.Options{
		Targets: target.NewRegistry(), Ways: w.opts.Access, Metrics: m, Log: slog.New(slog.DiscardHandler), Clock: w.clock})
	w.rounds(2)
	w.edit("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled })
	w.rounds(3)
	if run.Released(w.run("a")) || w.held() != 4 {
		t.Fatal("its quota is gone at once")
	}
	w.clock.Step(11 * time.Minute)
	w.rounds(2)
	if !run.Released(w.run("a")) || w.held() != 0 {
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
	w.edit("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelledRunFinally })
	w.settle()
	if !run.Released(w.run("a")) {
		t.Fatalf("it waits for what is not its own:\n%s", w.snapshot(false))
	}
	w.must(w.client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "theirs"}, &corev1.Pod{}))
}

// TestATargetIsDirtyWhileATaskPodOfTheRunGoesOn: the pod of provision, on a node that does not answer, may make a
// server any moment.
func TestATargetIsDirtyWhileATaskPodOfTheRunGoesOn(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	back, sweeper := w.disconnect()
	back()
	w.edit("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled })
	goesOn := func() {
		w.pod("a-provision-pod", map[string]string{pipeline.PipelineRunLabelKey: "a", pipeline.TaskRunLabelKey: "a-provision", contract.LabelRun: "a"})
	}
	for range 5 {
		w.rounds(1)
		goesOn()
	}
	w.clock.Step(11 * time.Minute)
	w.must(w.reconcile())
	goesOn()
	w.must(w.reconcile())
	if !run.Released(w.run("a")) || w.held() != 0 || w.dirty() != "bench/a" || !w.saw("ForcedRelease") {
		t.Fatalf("dirty %q:\n%s", w.dirty(), w.snapshot(false))
	}
	goesOn()
	w.sweep(sweeper)
	if w.dirty() == "" {
		t.Fatal("its mark is gone while the pod goes on")
	}
	w.must(w.client.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a-provision-pod"}}))
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
	w.must(w.client.Get(t.Context(), types.NamespacedName{Name: "local"}, flavor))
	flavor.Annotations = map[string]string{contract.AnnotationDirty: "bench/a"}
	w.must(w.client.Update(t.Context(), flavor))
	w.removeEngine("a")
	w.must(w.client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(ns)))
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
	w.edit("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelledRunFinally })
	w.rounds(10)
	if pr := w.run("a"); run.Released(pr) || !strings.Contains(pr.Annotations[contract.AnnotationReason], "its token there to be ended: no route to host") {
		t.Fatalf("reason %q:\n%s", w.run("a").Annotations[contract.AnnotationReason], w.snapshot(false))
	}
	w.clock.Step(11 * time.Minute)
	w.rounds(3)
	if !run.Released(w.run("a")) || w.held() != 0 || w.dirty() != "bench/a" || w.owed() != "bench/bflow-grant-a" {
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
