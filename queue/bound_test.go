package queue_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// refusing is a target that knows no namespace of one run.
type refusing struct {
	*lender
	run string
}

func (r *refusing) Access(ask target.Ask) (target.Grant, error) {
	if string(ask.UID) == r.run {
		return target.Grant{}, errors.New(`the target has no namespace "bench"`)
	}
	return r.lender.Access(ask)
}

// look lets the admission look at runs, whatever comes of it, and Kueue act.
func (w *world) look(names ...string) {
	w.T.Helper()
	for _, name := range names {
		req := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: name}}
		_, _ = w.admission.Enter(w.T.Context(), req)
		_, _ = w.admission.Go(w.T.Context(), req)
	}
	w.requeue()
	w.kueue()
}

// lookFor does so every ten seconds for a time.
func (w *world) lookFor(d time.Duration, names ...string) {
	w.T.Helper()
	for end := w.Clock.Now().Add(d); w.Clock.Now().Before(end); w.Clock.Step(10 * time.Second) {
		w.look(names...)
	}
	w.look(names...)
}

// lookUntil lets the admission look at run a every ten seconds until something holds, for an hour at most.
func (w *world) lookUntil(what string, holds func() bool) {
	w.T.Helper()
	for range 360 {
		if holds() {
			return
		}
		w.look("a")
		w.Clock.Step(10 * time.Second)
	}
	w.T.Fatalf("an hour later it is not so that %s:\n%s", what, w.snapshot(false))
}

// requeue is what Kueue does with a Workload that was sent back, once its time is over.
func (w *world) requeue() {
	w.T.Helper()
	for _, wl := range w.Workloads() {
		again := wl.Status.RequeueState
		if again == nil || again.RequeueAt == nil || w.Clock.Now().Before(again.RequeueAt.Time) ||
			apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadQuotaReserved) {
			continue
		}
		again.RequeueAt = nil
		is := map[string]metav1.ConditionStatus{kueue.WorkloadEvicted: "False", kueue.WorkloadRequeued: "True"}
		for kind, status := range is {
			apimeta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "Again"})
		}
		w.Must(w.Client.Status().Update(w.T.Context(), &wl))
	}
}

// workloadOf is that of a run.
func (w *world) workloadOf(name string) kueue.Workload {
	w.T.Helper()
	for _, wl := range w.Workloads() {
		if owner := metav1.GetControllerOf(&wl); owner.Name == name {
			return wl
		}
	}
	w.T.Fatalf("run %s has no Workload", name)
	return kueue.Workload{}
}

// admit lets Kueue admit a run, and nobody look at it afterwards.
func (w *world) admit(name string) {
	w.T.Helper()
	for range 10 {
		w.look(name)
		w.Clock.Step(time.Second)
		if w.held() > 0 {
			return
		}
	}
	w.T.Fatalf("run %s was not admitted:\n%s", name, w.snapshot(false))
}

// refuse lets the API server refuse a call.
func (w *world) refuse(call string, refusal error) {
	w.with(failing(w.Client, func(made string) error {
		if made == call {
			return refusal
		}
		return nil
	}))
}

func denied() error {
	return apierrors.NewForbidden(corev1.Resource("o"), "a", errors.New(`admission webhook "stranger" denied the request`))
}

func TestARunThatCannotBeLetStartLetsOthersGoFirst(t *testing.T) {
	theirs := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Name: "theirs", Namespace: ns, Labels: map[string]string{contract.LabelForRuns: "true"},
	}}
	for _, row := range []struct {
		name string
		keep func(w *world) // keeps run a from its start
		why  string
		mute bool // nor can the run be told
	}{
		{"its target does not know its namespace", func(w *world) {
			local := w.local(w.Client)
			local.Accessor = &refusing{w.lender, "a"}
			w.opts.Targets.Put(local)
		}, `the target has no namespace "bench"`, false},
		{"access to its target is refused", func(w *world) {
			w.refuse("create Secret bflow-a-target", denied())
		}, "denied the request", false},
		{"every change of it is refused", func(w *world) {
			w.refuse("patch PipelineRun a", denied())
		}, "denied the request", true},
		{"a webhook of its namespace does not answer", func(w *world) {
			silent := errors.New(`failed calling webhook "stranger": no endpoints`)
			w.refuse("patch PipelineRun a", apierrors.NewInternalError(silent))
		}, `failed calling webhook "stranger"`, true},
		{"its account is not marked for runs any more", func(w *world) {
			w.Must(w.Client.Delete(w.T.Context(), theirs))
		}, "ServiceAccount theirs", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, 4)
			w.Must(w.Client.Create(t.Context(), theirs.DeepCopy()))
			w.submit("a", func(pr *tektonv1.PipelineRun) { pr.Spec.TaskRunTemplate.ServiceAccountName = "theirs" })
			w.admit("a")
			row.keep(w)
			w.submit("b")
			w.lookFor(100*time.Second, "a", "b")
			if !w.Run("b").IsPending() || w.saw("SentBack") {
				t.Fatal("what may pass is given no time")
			}
			if reason := w.Run("a").Annotations[contract.AnnotationReason]; !row.mute && !strings.Contains(reason, row.why) {
				t.Errorf("meanwhile it says %q", reason)
			}
			w.lookFor(time.Minute, "a", "b")
			if !w.Run("a").IsPending() || w.Run("b").IsPending() || w.held() != 4 || !w.saw("SentBack") {
				t.Fatalf("it still holds its devices:\n%s", w.snapshot(false))
			}
			wl := w.workloadOf("a")
			said := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
			if said == nil || said.Status != metav1.ConditionTrue || !strings.Contains(said.Message, row.why) {
				t.Errorf("its Workload says %+v", said)
			}
		})
	}
}

// TestARunThatWasSentBackIsTriedAgainEachMinuteAndHoldsItsQuotaForSeconds: others wait for its devices, and it starts
// soon after what kept it has gone.
func TestARunThatWasSentBackIsTriedAgainEachMinuteAndHoldsItsQuotaForSeconds(t *testing.T) {
	w := newWorld(t, 4)
	w.submit("a")
	w.admit("a")
	w.refuse("patch PipelineRun a", denied())
	w.lookUntil("it gives its quota back", func() bool { return w.held() == 0 })
	for range 5 {
		since := w.Clock.Now()
		w.lookUntil("it is admitted again", func() bool { return w.held() > 0 })
		again := w.Clock.Now()
		w.lookUntil("it gives its quota back again", func() bool { return w.held() == 0 })
		if away, held := again.Sub(since), w.Clock.Since(again); away < 40*time.Second || away > time.Minute ||
			held > 30*time.Second {
			t.Errorf("it stayed away for %s and held its quota for %s, want 45 s and some seconds", away, held)
		}
	}
	w.with(w.Client)
	w.lookFor(time.Minute, "a")
	if w.Run("a").IsPending() || w.held() != 4 {
		t.Errorf("a minute after what kept it has gone it was not let start:\n%s", w.snapshot(false))
	}
}

func TestWhoseStartsNobodyTriedIsNotSentBack(t *testing.T) {
	busy := apierrors.NewTooManyRequestsError("the server has too much to do")
	for _, row := range []struct {
		name string
		pass func(w *world)
	}{
		{"the controller was away since the admission", func(w *world) { w.Clock.Step(time.Hour) }},
		{"the controller stood still between two tries that failed", func(w *world) {
			w.look("a")
			w.Clock.Step(time.Hour)
		}},
		{"another controller had tried", func(w *world) {
			w.lookFor(100*time.Second, "a")
			w.refuse("patch PipelineRun a", denied())
			w.Clock.Step(30 * time.Second)
		}},
		{"the API server had too much to do", func(w *world) {
			w.refuse("patch PipelineRun a", busy)
			w.lookFor(time.Hour, "a")
			w.refuse("patch PipelineRun a", denied())
		}},
		{"the API server did not answer", func(w *world) {
			w.refuse("patch PipelineRun a", &url.Error{Op: "Patch", URL: "https://hub", Err: errors.New("connection refused")})
			w.lookFor(time.Hour, "a")
		}},
		{"others changed it", func(w *world) {
			changed := errors.New("it was changed")
			w.refuse("patch PipelineRun a", apierrors.NewConflict(corev1.Resource("pipelineruns"), "a", changed))
			w.lookFor(time.Hour, "a")
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, 4)
			w.submit("a")
			w.admit("a")
			w.refuse("patch PipelineRun a", denied())
			row.pass(w)
			w.look("a")
			if w.saw("SentBack") || w.held() != 4 {
				t.Fatal("it was sent back, though it may be let start at the next look")
			}
			w.with(w.Client)
			w.look("a")
			if w.Run("a").IsPending() {
				t.Error("it was not let start")
			}
		})
	}
}
