package matrix

import (
	"context"
	"errors"
	"strings"
	"testing"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// refuse lets a webhook be against every change of one run.
func (w *world) refuse(name string) {
	denied := errors.New(`admission webhook "stranger" denied the request`)
	w.with(interceptor.NewClient(w.Client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			if o.GetName() == name {
				return apierrors.NewForbidden(corev1.Resource("pipelineruns"), name, denied)
			}
			return c.Patch(ctx, o, p, opts...)
		},
	}))
}

// looks lets the controller look some times, whatever comes of it, and returns its last error.
func (w *world) looks(times int) (err error) {
	for range times {
		err = w.reconcile()
		w.act()
	}
	return err
}

func TestARunThatTakesNoChangeKeepsTheCancelFromNoOther(t *testing.T) {
	for _, row := range []struct {
		name, refused string
		status        map[string]tektonv1.PipelineRunSpecStatus // of the others, as they are told
	}{
		{"one that waits", second, map[string]tektonv1.PipelineRunSpecStatus{
			first: tektonv1.PipelineRunSpecStatusCancelledRunFinally, third: tektonv1.PipelineRunSpecStatusCancelled}},
		{"the one that runs", first, map[string]tektonv1.PipelineRunSpecStatus{
			second: tektonv1.PipelineRunSpecStatusCancelled, third: tektonv1.PipelineRunSpecStatusCancelled}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, makePlans(t, 3))
			w.hold = true
			w.settle()
			w.refuse(row.refused)
			w.EditRun("tiny",
				func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelledRunFinally })
			err := w.looks(3)
			if err == nil || !strings.Contains(err.Error(), `telling run "`+row.refused+`" to end`) {
				t.Errorf("the error does not say who was not told: %v", err)
			}
			for name, want := range row.status {
				if pr := w.Run(name); pr.Spec.Status != want || !run.Cancelling(pr) {
					t.Errorf("run %s is %q, want %q", name, pr.Spec.Status, want)
				}
				if err != nil && strings.Contains(err.Error(), name) {
					t.Errorf("the error speaks of run %s, which was told: %v", name, err)
				}
			}
			if w.cr().IsDone() {
				t.Error("the matrix has ended, and a run of it was not told to")
			}
			w.with(w.Client)
			w.settle()
			if got := w.state().Outcomes; got != "3c" {
				t.Errorf("it came to %s", got)
			}
		})
	}
}

// TestARunThatIsNotLetGoKeepsNothingFromTheOthers: it has ended, and the webhook wants it to keep our finalizer.
func TestARunThatIsNotLetGoKeepsNothingFromTheOthers(t *testing.T) {
	w := newWorld(t, makePlans(t, 3, func(_ int, p *runplan.RunPlan) { p.Execution.MaxParallel = 1 }))
	w.refuse(first)
	if err := w.looks(30); err == nil || !strings.Contains(err.Error(), first) {
		t.Errorf("the error does not say which run takes no change: %v", err)
	}
	for _, name := range []string{second, third} {
		if w.started[name] != 1 {
			t.Errorf("run %s was let start %d times", name, w.started[name])
		}
	}
	w.with(w.Client)
	w.settle()
	if got := w.state().Outcomes; got != "3p" {
		t.Errorf("it came to %s", got)
	}
}

func TestTheEndOfAMatrixReachesItsRunsThoughOneIsNotLetGo(t *testing.T) {
	w := newWorld(t, makePlans(t, 3))
	w.hold = true
	w.settle()
	w.refuse(first)
	w.end(first, "")
	_ = w.looks(4)
	if !guarded(w.Run(first)) || w.Run(second).IsPending() || !w.Run(third).IsPending() {
		t.Fatalf("the first was to be over and held, the second to run, the third to wait:\n%s", w.snapshot())
	}
	w.EditRun("tiny",
		func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelledRunFinally })
	_ = w.looks(3)
	for _, name := range []string{second, third} {
		if pr := w.Run(name); !run.Stopping(pr) && !pr.IsCancelled() {
			t.Errorf("run %s was not told to end: %q", name, pr.Spec.Status)
		}
	}
}
