package queue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// hook sees each write: before it, and after it.
type hook struct {
	before func(call string) error
	after  func(call string) error
}

func hooked(c client.WithWatch, h hook) client.Client {
	around := func(call string, do func() error) error {
		if err := h.before(call); err != nil {
			return err
		}
		return errors.Join(do(), h.after(call))
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return around(name("create", o, o), func() error { return c.Create(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return around(name("delete", o, o), func() error { return c.Delete(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return around(name("update", o, o), func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			return around(name("patch", o, o), func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption) error {
			return around(name("patch "+sub, o, o), func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object,
			opts ...client.SubResourceUpdateOption) error {
			return around(name("update "+sub, o, o), func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
	})
}

func name(verb string, typed runtime.Object, o client.Object) string {
	kind := fmt.Sprintf("%T", typed)
	return verb + " " + kind[strings.LastIndex(kind, ".")+1:] + " " + o.GetName()
}

func spy(c client.WithWatch, see func(call string)) client.Client {
	return hooked(c, hook{before: func(call string) error { see(call); return nil },
		after: func(string) error { return nil }})
}

func failing(c client.WithWatch, fail func(call string) error) client.Client {
	return hooked(c, hook{before: fail, after: func(string) error { return nil }})
}

var errKilled = errors.New("killed")

// killer lets n writes through and then none, as a process that dies: the answer to the last one is lost.
func killer(c client.WithWatch, n int, count *int) client.Client {
	return hooked(c, hook{
		before: func(string) error {
			*count++
			if *count > n {
				return errKilled
			}
			return nil
		},
		after: func(string) error {
			if *count >= n {
				return errKilled
			}
			return nil
		},
	})
}

// stories are lives of a run, each with the last thing that must hold.
func stories() map[string]func(w *world, between func()) {
	cancel := func(status tektonv1.PipelineRunSpecStatus) func(*world, func()) {
		return func(w *world, between func()) {
			w.submit("a")
			between()
			w.EditRun("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = status })
			between()
		}
	}
	return map[string]func(*world, func()){
		"it runs to its end": func(w *world, between func()) {
			w.submit("a")
			between()
			w.succeed("a")
			between()
		},
		"it is cancelled outright":     cancel(tektonv1.PipelineRunSpecStatusCancelled),
		"it is cancelled with its end": cancel(tektonv1.PipelineRunSpecStatusCancelledRunFinally),
		"it is deleted while it runs": func(w *world, between func()) {
			w.submit("a")
			between()
			w.Must(w.Client.Delete(w.T.Context(), w.Run("a")))
			between()
		},
		"it is evicted": func(w *world, between func()) {
			w.submit("a")
			between()
			w.evict("a", kueue.WorkloadEvictedByPreemption)
			between()
			w.succeed("a-a2")
			between()
		},
		"its target takes its load away": func(w *world, between func()) {
			w.submit("a")
			between()
			w.lose("a")
			between()
			w.succeed("a-a2")
			between()
		},
		"its target says something else than where it is": func(w *world, between func()) {
			w.submit("a")
			between()
			w.EditRun("a", func(pr *tektonv1.PipelineRun) {
				pr.Labels[contract.LabelTarget] = "nowhere"
				pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelledRunFinally
			})
			between()
		},
		"its Workload is made before": func(w *world, between func()) {
			w.opts.Prebuilt = true
			w.with(w.ours)
			w.submit("a")
			between()
			w.succeed("a")
			between()
		},
	}
}

// TestADeathAfterAnyWriteLeadsToTheSameEnd kills the controller after each write of each story.
func TestADeathAfterAnyWriteLeadsToTheSameEnd(t *testing.T) {
	for title, story := range stories() {
		t.Run(title, func(t *testing.T) {
			writes := 0
			calm := newWorld(t, 4)
			calm.with(killer(calm.Client, 1<<30, &writes))
			story(calm, func() { calm.settle("a", "a-a2") })
			want := calm.snapshot(false)
			if calm.held() != 0 || strings.Contains(want, "engine") {
				t.Fatalf("the story itself leaves something:\n%s", want)
			}
			for n := 1; n <= writes; n++ {
				w := newWorld(t, 4)
				w.killed(n, story)
				if got := w.snapshot(false); got != want {
					t.Fatalf("killed after write %d of %d:\n%s\nwant:\n%s", n, writes, got, want)
				}
			}
			t.Logf("%d writes", writes)
		})
	}
}

// killed lives a story with one death; the quota is never free while an engine is up.
func (w *world) killed(n int, story func(*world, func())) {
	w.T.Helper()
	count := 0
	w.with(killer(w.Client, n, &count))
	story(w, func() {
		for range 60 {
			err := w.reconcile("a", "a-a2")
			if err != nil && !errors.Is(err, errKilled) {
				w.T.Fatal(err)
			}
			if count >= n { // the next controller
				w.with(w.Client)
				break
			}
			w.act()
			w.guard()
		}
		w.settle("a", "a-a2")
		w.guard()
	})
}

// guard breaks when an engine is up whose run holds no quota, and when a token outlives the release of its run.
func (w *world) guard() {
	w.T.Helper()
	var engines appsv1.DeploymentList
	w.Must(w.Client.List(w.T.Context(), &engines))
	if len(engines.Items) > 0 && w.held() == 0 {
		w.T.Fatalf("an engine is up without quota:\n%s", w.snapshot(false))
	}
	var runs tektonv1.PipelineRunList
	w.Must(w.Client.List(w.T.Context(), &runs))
	for _, pr := range runs.Items {
		if run.Released(&pr) && w.lender.lent[pr.UID] && w.owed() == "" {
			w.T.Fatalf("run %s is released, and its token is good:\n%s", pr.Name, w.snapshot(false))
		}
	}
}
