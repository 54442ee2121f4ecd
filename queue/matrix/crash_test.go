package matrix

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// story is the life of a matrix of three points; between is called where something may happen to the controller.
type story struct {
	plans func(i int, p *runplan.RunPlan)
	live  func(w *world, between func())
	runs  []string // that have started, each once
	again bool     // its last task is started by the controller, once, and goes with the matrix
	end   string   // in the words of its outcomes; "" = it is gone
}

const (
	first  = "tiny-00001"
	second = "tiny-00002"
	third  = "tiny-00003"
)

func stories() map[string]story {
	cancel := func(status tektonv1.PipelineRunSpecStatus) func(*world, func()) {
		return func(w *world, between func()) {
			w.hold = true
			between()
			w.EditRun("tiny", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = status })
			between()
		}
	}
	return map[string]story{
		"it runs to its end": {live: func(w *world, between func()) { w.slots = 2; between() },
			runs: []string{first, second, third}, end: "3p"},
		"one after another": {
			plans: func(_ int, p *runplan.RunPlan) { p.Execution.MaxParallel = 1 },
			live:  func(_ *world, between func()) { between() }, runs: []string{first, second, third}, end: "3p"},
		"one fails": {live: func(w *world, between func()) {
			w.slots = 3
			w.verdict = func(name string) string { return map[string]string{second: "red"}[name] }
			between()
		}, runs: []string{first, second, third}, end: "pFp"},
		"the first failure ends it": {
			plans: func(_ int, p *runplan.RunPlan) { p.Execution.FailFast, p.Execution.MaxParallel = true, 2 },
			live: func(w *world, between func()) {
				w.verdict = func(name string) string { return map[string]string{first: "red"}[name] }
				between()
			}, runs: []string{first}, end: "Fcs"},
		"it is cancelled with its end while one runs": {live: cancel(tektonv1.PipelineRunSpecStatusCancelledRunFinally),
			runs: []string{first}, end: "3c"},
		"it is cancelled outright while one runs": {live: cancel(tektonv1.PipelineRunSpecStatusCancelled),
			runs: []string{first}, again: true, end: "3c"},
		"it is deleted while one runs": {live: func(w *world, between func()) {
			w.hold = true
			between()
			w.Must(w.Client.Delete(w.T.Context(), w.parent()))
			between()
		}, runs: []string{first}, again: true},
		"it is deleted while one runs, without a tracking server": {live: func(w *world, between func()) {
			w.param(contract.ParamMLflowRun, "")
			w.hold = true
			between()
			w.Must(w.Client.Delete(w.T.Context(), w.parent()))
			between()
		}, runs: []string{first}},
		"it is deleted with what it owns first, without a tracking server": {live: func(w *world, between func()) {
			w.param(contract.ParamMLflowRun, "")
			w.hold = true
			between()
			w.EditRun("tiny", func(pr *tektonv1.PipelineRun) { pr.Finalizers = []string{metav1.FinalizerDeleteDependents} })
			w.Must(w.Client.Delete(w.T.Context(), w.parent()))
			between()
			w.EditRun("tiny", func(pr *tektonv1.PipelineRun) { pr.Finalizers = nil })
			between()
		}, runs: []string{first}},
		"a run that waits is deleted": {live: func(w *world, between func()) {
			w.hold = true
			between()
			w.Must(w.Client.Delete(w.T.Context(), w.Run(third)))
			w.hold = false
			between()
		}, runs: []string{first, second}, end: "2pd"},
		"a run that has ended is deleted": {live: func(w *world, between func()) {
			w.slots = 3
			between()
			w.Must(w.Client.Delete(w.T.Context(), w.Run(third)))
			between()
		}, runs: []string{first, second, third}, end: "3p"},
	}
}

// TestADeathAfterAnyWriteLeadsToTheSameEnd kills the controller after each write of each story: every point has run
// exactly once, and nothing is left.
func TestADeathAfterAnyWriteLeadsToTheSameEnd(t *testing.T) {
	for title, s := range stories() {
		t.Run(title, func(t *testing.T) {
			writes := 0
			calm := s.world(t)
			calm.with(killer(calm.Client, 1<<30, &writes))
			s.live(calm, calm.settle)
			s.check(calm, 0)
			want := calm.snapshot()
			for n := 1; n <= writes; n++ {
				w := s.world(t)
				w.killed(n, s)
				s.check(w, n)
				if got := w.snapshot(); got != want {
					t.Fatalf("killed after write %d of %d:\n%s\nwant:\n%s", n, writes, got, want)
				}
			}
			t.Logf("%d writes", writes)
		})
	}
}

func (s *story) world(t *testing.T) *world {
	var edits []func(int, *runplan.RunPlan)
	if s.plans != nil {
		edits = append(edits, s.plans)
	}
	return newWorld(t, makePlans(t, 3, edits...))
}

// killed lives a story with one death.
func (w *world) killed(n int, s story) {
	w.T.Helper()
	count := 0
	w.with(killer(w.Client, n, &count))
	s.live(w, func() {
		for last := ""; ; {
			if err := w.reconcile(); err != nil && !errors.Is(err, errKilled) {
				w.T.Fatal(err)
			}
			if count >= n { // the next controller
				w.with(w.Client)
				break
			}
			w.act()
			now := w.snapshot()
			if now == last {
				break
			}
			last = now
		}
		w.settle()
	})
}

func (s *story) check(w *world, n int) {
	w.T.Helper()
	for name, times := range w.started {
		if times != 1 || !slices.Contains(s.runs, name) {
			w.T.Errorf("killed after write %d: %s has started %d times", n, name, times)
		}
	}
	if len(w.started) != len(s.runs) {
		w.T.Errorf("killed after write %d: %v have started, want %v", n, w.started, s.runs)
	}
	for _, pr := range w.runs() {
		if !run.Over(&pr) || run.Holding(&pr) || len(pr.Finalizers) > 0 {
			w.T.Errorf("killed after write %d: %s is left: %q %v", n, pr.Name, pr.Spec.Status, pr.Finalizers)
		}
	}
	task := &tektonv1.TaskRun{}
	err := w.Client.Get(w.T.Context(), types.NamespacedName{Namespace: ns, Name: "tiny-aggregate-again"}, task)
	if (err == nil) != (s.again && s.end != "") || (w.aggregated == 1) != s.again || w.aggregated > 1 {
		w.T.Errorf("killed after write %d: the last task has run %d times: %v", n, w.aggregated, err)
	}
	if err == nil && (task.Labels["tekton.dev/pipelineRunUID"] != "parent" || task.Spec.TaskSpec == nil ||
		len(task.OwnerReferences) != 1) {
		w.T.Errorf("killed after write %d: the last task is %+v", n, task)
	}
	cr := w.cr()
	if s.end == "" {
		if cr != nil || len(w.runs()) > 0 || w.parentOrNone().UID != "" {
			w.T.Errorf("killed after write %d: something is left of what was deleted", n)
		}
		return
	}
	if got := w.state().Outcomes; got != s.end || !cr.IsDone() || len(cr.Finalizers) > 0 {
		w.T.Errorf("killed after write %d: outcomes %s, want %s; done %v, finalizers %v\n%s", n, got, s.end, cr.IsDone(),
			cr.Finalizers, w.snapshot())
	}
	if good := !strings.ContainsAny(s.end, "Fcds"); cr.IsSuccessful() != good {
		w.T.Errorf("killed after write %d: successful %v", n, cr.IsSuccessful())
	}
}

func TestNoRunIsMadeAfterItsMatrixWasCancelled(t *testing.T) {
	w := newWorld(t, makePlans(t, 3))
	made := 0
	w.with(interceptor.NewClient(w.Client, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if _, ok := o.(*tektonv1.PipelineRun); ok {
				if made++; made == 2 { // it is just on its way
					w.EditRun("tiny",
						func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelledRunFinally })
				}
			}
			return c.Create(ctx, o, opts...)
		},
	}))
	w.Must(w.reconcile())
	if made != 2 {
		t.Errorf("%d runs were made, want the two that were before the cancel", made)
	}
	w.settle()
	if got := w.state().Outcomes; got != "2cs" || made != 2 {
		t.Errorf("outcomes %s, %d runs were made", got, made)
	}
}

func TestNoRunStartsAfterItsMatrixWasCancelled(t *testing.T) {
	w := newWorld(t, makePlans(t, 3))
	w.hold = true
	w.Must(w.reconcile())
	w.act() // one runs
	w.EditRun("tiny", func(pr *tektonv1.PipelineRun) { annotate(pr, contract.AnnotationCancel, "now") })
	w.slots = 3
	w.act() // neither Tekton nor our controller knows yet
	if len(w.started) != 1 {
		t.Errorf("%v have started", w.started)
	}
}
