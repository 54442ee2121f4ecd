package queue_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue/retry"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

func TestARunWaitsStartsAndIsReleased(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.Must(w.reconcile())
	w.Must(w.reconcile())
	if pr := w.Run("a"); !pr.IsPending() || len(pr.Finalizers) != 0 || len(w.Workloads()) != 1 {
		t.Fatalf("before its admission a run has a Workload and no finalizer: %v", pr.Finalizers)
	}
	w.settle()
	pr := w.Run("a")
	if pr.IsPending() || pr.Annotations[contract.AnnotationAdmitted] == "" || pr.Labels[contract.LabelTarget] != "local" ||
		pr.Labels[contract.LabelRun] != "a" || pr.Labels[contract.LabelAttempt] != "1" || len(pr.Finalizers) != 1 {
		t.Fatalf("it did not start: %+v", pr.ObjectMeta)
	}
	if !w.secretExists("a") || w.held() != 4 {
		t.Fatalf("secret %v, quota %d", w.secretExists("a"), w.held())
	}
	w.succeed("a")
	w.settle()
	if pr = w.Run("a"); !run.Released(pr) || len(pr.Finalizers) != 0 || w.held() != 0 || w.secretExists("a") ||
		!w.saw("Released") {
		t.Fatalf("it was not released:\n%s", w.snapshot(false))
	}
}

func TestTheSecretIsThereBeforeTheStart(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	started := false
	w.with(spy(w.Client, func(call string) {
		if call == "patch PipelineRun a" && w.Run("a").Annotations[contract.AnnotationAdmitted] == "" && w.held() > 0 {
			started = true
			if !w.secretExists("a") {
				t.Error("the run starts without access to its target")
			}
		}
	}))
	w.settle()
	if !started {
		t.Fatal("no start was seen")
	}
}

func TestNoRunStartsWhileItIsCancelled(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a", func(pr *tektonv1.PipelineRun) { pr.Annotations[contract.AnnotationCancel] = "now" })
	for range 5 {
		_ = w.reconcile() // the start is refused each time
		w.act()
	}
	if pr := w.Run("a"); !pr.IsPending() {
		t.Fatal("it started")
	}
	w.EditRun("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled })
	w.settle()
	if !w.Run("a").IsDone() || w.held() != 0 || w.secretExists("a") {
		t.Fatalf("it holds something:\n%s", w.snapshot(false))
	}
}

func TestStopBeforeStartKeepsTheRun(t *testing.T) {
	w := newWorld(t, 0)
	w.submit("a")
	w.settle()
	w.evict("a", kueue.WorkloadEvictedByAdmissionCheck)
	w.settle()
	if pr := w.Run("a"); !pr.IsPending() || run.Cause(pr) != "" {
		t.Fatalf("the run did not stay: %q", pr.Spec.Status)
	}
}

func TestADoneRunWithLiveEnginePodsKeepsItsQuota(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	w.stuck = true
	w.EditRun("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled })
	w.tekton()
	for range 5 { // the Deployment is deleted, its pod is not gone
		w.Must(w.reconcile())
		w.tekton()
		w.restuck()
	}
	pr := w.Run("a")
	if !pr.IsDone() || run.Released(pr) || w.held() != 4 {
		t.Fatalf("quota %d:\n%s", w.held(), w.snapshot(false))
	}
	if !strings.Contains(pr.Annotations[contract.AnnotationReason], "Pod a-engine-0") {
		t.Errorf("reason: %q", pr.Annotations[contract.AnnotationReason])
	}
	w.stuck = false
	w.settle()
	if !run.Released(w.Run("a")) || w.held() != 0 {
		t.Fatalf("it was not released:\n%s", w.snapshot(false))
	}
}

// TestAPodThatTektonHasForgottenIsDeleted: its controller died after it had made the pod and before it had written down
// that it had, so a cancelled task is over while its pod goes on.
func TestAPodThatTektonHasForgottenIsDeleted(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	w.forgetful = true
	w.EditRun("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled })
	w.rounds(5)
	if run.Released(w.Run("a")) || w.saw("DeletedTaskPod") {
		t.Fatal("a pod that has just been told to end is not given time")
	}
	w.Clock.Step(time.Minute)
	w.forgetful = false
	w.rounds(5)
	if !run.Released(w.Run("a")) || w.held() != 0 || !w.saw("DeletedTaskPod") || w.saw("ForcedRelease") {
		t.Fatalf("quota %d:\n%s", w.held(), w.snapshot(false))
	}
}

// TestATaskThatTektonHasForgottenIsCancelled: its controller died after it had made the task and before it had written
// down that it had, so a cancelled run is over while its task goes on.
func TestATaskThatTektonHasForgottenIsCancelled(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	w.orphans = true
	w.EditRun("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled })
	w.rounds(10)
	if !run.Released(w.Run("a")) || w.held() != 0 || w.saw("ForcedRelease") {
		t.Fatalf("quota %d:\n%s", w.held(), w.snapshot(false))
	}
}

// restuck keeps the pod of engine a there with a finalizer, as a dead node would.
func (w *world) restuck() {
	pod := &corev1.Pod{}
	err := w.Client.Get(w.T.Context(), types.NamespacedName{Namespace: ns, Name: "a-engine-0"}, pod)
	if apierrors.IsNotFound(err) {
		w.pod("a-engine-0", engineLabels("a"))
	}
}

func TestWhatCannotBeRemovedIsReleasedByForce(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	w.stuck = true
	w.EditRun("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled })
	for range 3 {
		w.act()
		w.Must(w.reconcile())
		w.restuck()
	}
	w.Clock.Step(11 * time.Minute)
	w.Must(w.reconcile())
	w.Must(w.reconcile())
	flavor := &kueue.ResourceFlavor{}
	w.Must(w.Client.Get(t.Context(), types.NamespacedName{Name: "local"}, flavor))
	if !run.Released(w.Run("a")) || w.held() != 0 || flavor.Annotations[contract.AnnotationDirty] != "bench/a" ||
		!w.saw("ForcedRelease") {
		t.Fatalf("dirty %q:\n%s", flavor.Annotations[contract.AnnotationDirty], w.snapshot(false))
	}
}

func TestAPlainlyCancelledRunGetsItsFinish(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	w.EditRun("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled })
	w.settle()
	task := &tektonv1.TaskRun{}
	w.Must(w.Client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "a-finish-again"}, task))
	if task.Spec.TaskRef.Name != "bflow-finish-1" || task.Spec.Params[0].Value.StringVal != "None" ||
		task.Spec.Workspaces[0].PersistentVolumeClaim.ClaimName != "pvc-of-a" {
		t.Errorf("finish is %+v", task.Spec)
	}
	if !run.Released(w.Run("a")) || w.held() != 0 {
		t.Errorf("it was not released:\n%s", w.snapshot(false))
	}
}

func TestADeletedRunIsTornDownBeforeItGoes(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	w.Must(w.Client.Delete(t.Context(), w.Run("a")))
	w.Must(w.reconcile())
	if w.held() != 4 {
		t.Fatalf("its quota is gone before its engine is:\n%s", w.snapshot(false))
	}
	w.settle("a")
	w.nothingLeft()
}

// nothingLeft checks that no run is there, nor anything of one that holds what others need.
func (w *world) nothingLeft() {
	w.T.Helper()
	if got := w.snapshot(false); strings.Contains(got, "PipelineRun") || strings.Contains(got, "engine") ||
		strings.Contains(got, "Secret") || w.held() != 0 {
		w.T.Fatalf("something is left:\n%s", got)
	}
	for _, wl := range w.Workloads() {
		if len(wl.Finalizers) > 0 {
			w.T.Error("its Workload is held")
		}
	}
}

// TestARunInANamespaceThatIsDeletedIsTornDownWithoutItsFinish: such a namespace takes nothing new.
func TestARunInANamespaceThatIsDeletedIsTornDownWithoutItsFinish(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a")
	w.settle()
	w.with(interceptor.NewClient(w.Client, interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			refusal := apierrors.NewForbidden(schema.GroupResource{}, o.GetName(),
				errors.New("namespace bench is being terminated"))
			refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
			return refusal
		}}))
	w.Must(w.Client.Delete(t.Context(), w.Run("a")))
	w.settle("a")
	w.nothingLeft()
	if err := w.Client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "a-finish-again"},
		&tektonv1.TaskRun{}); !apierrors.IsNotFound(err) {
		t.Errorf("task finish: %v", err)
	}
}

func TestACancelledQueuedRunWaitsNoMore(t *testing.T) {
	w := newWorld(t, 0)
	w.submit("a", func(pr *tektonv1.PipelineRun) { pr.Annotations[contract.AnnotationReason] = "Next in queue" })
	w.settle()
	w.EditRun("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled })
	w.settle()
	if pr := w.Run("a"); !pr.IsDone() || pr.Annotations[contract.AnnotationReason] != "" || run.Released(pr) {
		t.Fatalf("%v", pr.Annotations)
	}
}

func TestADeletedQueuedRunJustGoes(t *testing.T) {
	w := newWorld(t, 0)
	w.submit("a")
	w.settle()
	w.Must(w.Client.Delete(t.Context(), w.Run("a")))
	w.settle("a")
	if got := w.snapshot(false); strings.Contains(got, "PipelineRun") {
		t.Fatal(got)
	}
}

func TestTheQuotaIsFreeAfterTaskRelease(t *testing.T) {
	w := newWorld(t, 4)
	w.submit("a")
	w.settle()
	w.submit("b")
	w.settle()
	if !w.Run("b").IsPending() {
		t.Fatal("b has no room")
	}
	w.task(w.Run("a"), contract.Release, true)
	w.removeEngine("a")
	w.child(w.Run("a"), contract.Release)
	w.settle()
	if w.Run("a").IsDone() || w.Run("b").IsPending() || w.held() != 4 {
		t.Fatalf("b must run while a computes:\n%s", w.snapshot(false))
	}
}

func TestAnEvictedRunEndsInOrderAndIsTriedAgain(t *testing.T) {
	w := newWorld(t, 4)
	w.submit("a")
	w.settle()
	w.evict("a", kueue.WorkloadEvictedByPreemption)
	w.settle()
	first := w.Run("a")
	if first.Spec.Status != tektonv1.PipelineRunSpecStatusCancelledRunFinally || run.Cause(first) != run.CauseEvicted ||
		first.Annotations[run.AnnotationNext] != "a-a2" {
		t.Fatalf("%q %v", first.Spec.Status, first.Annotations)
	}
	second := w.Run("a-a2")
	if run.ID(second) != "a" || run.Attempt(second) != 2 || second.Labels[contract.LabelPlanHash] != "abc" ||
		second.Spec.Params[0].Value.StringVal != "a" || second.Spec.Params[1].Value.StringVal != "2" {
		t.Errorf("attempt is %v %v", second.Labels, second.Spec.Params)
	}
	if second.IsPending() || w.held() != 4 || !w.secretExists("a") {
		t.Errorf("the attempt did not start:\n%s", w.snapshot(false))
	}
	w.Must(w.Client.Delete(t.Context(), second))
	w.settle("a-a2")
	if err := w.Client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "a-a2"},
		second); !apierrors.IsNotFound(err) {
		t.Errorf("an attempt that a person deleted was made again: %v", err)
	}
}

func TestARunThatLostATaskToItsTargetIsTriedAgain(t *testing.T) {
	for _, row := range []struct {
		name  string
		end   func(w *world)
		again bool
	}{
		{"its load was taken away", func(w *world) { w.lose("a") }, true},
		{"it failed by itself", func(w *world) {
			w.endTasks("a")
			w.removeEngine("a")
			w.done(w.Run("a"), "Failed")
		}, false},
		{"somebody cancelled it", func(w *world) {
			w.EditRun("a", func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelledRunFinally })
			w.lose("a")
		}, false},
		{"somebody wants its end", func(w *world) {
			w.EditRun("a", func(pr *tektonv1.PipelineRun) { pr.Annotations[contract.AnnotationCancel] = "x" })
			w.lose("a")
		}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, 4)
			w.submit("a")
			w.settle()
			row.end(w)
			w.settle()
			first := w.Run("a")
			if !run.Released(first) || (run.Cause(first) == run.CauseLost) != row.again ||
				(first.Annotations[run.AnnotationNext] == "a-a2") != row.again {
				t.Errorf("annotations %v", first.Annotations)
			}
			if row.again && (w.Run("a-a2").IsPending() || w.held() != 4 ||
				first.Annotations[run.AnnotationStopped] != "lost: load-gen: its pod was deleted") {
				t.Errorf("the attempt did not start:\n%s", w.snapshot(false))
			}
		})
	}
}

func TestADeactivatedRunIsNotTriedAgain(t *testing.T) {
	w := newWorld(t, 4)
	w.submit("a")
	w.settle()
	w.evict("a", kueue.WorkloadDeactivated)
	w.settle()
	if pr := w.Run("a"); retry.Due(pr) || run.Cause(pr) != run.CauseDeactivated || !run.Released(pr) {
		t.Errorf("%v", pr.Annotations)
	}
}

func TestForeignRunsAreNotTouched(t *testing.T) {
	w := newWorld(t, 8)
	w.submit("a", func(pr *tektonv1.PipelineRun) { delete(pr.Labels, contract.LabelPlanHash) })
	before := w.snapshot(true)
	w.Must(w.reconcile())
	if after := w.snapshot(true); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func TestAWorkloadThatSomebodyDeletesKeepsItsQuotaUntilTheRelease(t *testing.T) {
	w := newWorld(t, 4)
	w.submit("a")
	w.settle()
	wl := w.Workloads()[0]
	w.Must(w.Client.Delete(t.Context(), &wl))
	w.Must(w.reconcile())
	if w.held() != 4 || w.Run("a").Spec.Status != tektonv1.PipelineRunSpecStatusCancelledRunFinally {
		t.Fatalf("quota %d:\n%s", w.held(), w.snapshot(false))
	}
	w.settle()
	if !run.Released(w.Run("a")) || w.held() != 0 {
		t.Fatalf("it was not released:\n%s", w.snapshot(false))
	}
}

func TestADemandThatNobodyCanReadIsSaid(t *testing.T) {
	w := newWorld(t, 4)
	w.submit("a", func(pr *tektonv1.PipelineRun) { pr.Annotations[contract.AnnotationRequests] = `4 GPUs` })
	w.settle()
	if pr := w.Run("a"); !strings.Contains(pr.Annotations[contract.AnnotationReason], "invalid character") ||
		!w.saw("InvalidDemand") {
		t.Errorf("%v", pr.Annotations)
	}
}

// TestTasksHaveAccountsThatAreMarkedForRuns: an experiment names them, which may come from a pull request.
func TestTasksHaveAccountsThatAreMarkedForRuns(t *testing.T) {
	asks := func(name string) func(*tektonv1.PipelineRun) {
		return func(pr *tektonv1.PipelineRun) { pr.Spec.TaskRunTemplate.ServiceAccountName = name }
	}
	account := func(name, marked string) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: name,
			Labels: map[string]string{contract.LabelForRuns: marked}}}
	}
	for _, row := range []struct {
		name   string
		edit   func(*tektonv1.PipelineRun)
		starts bool
	}{
		{"the account of bootstrap", asks(contract.AccountRunner), true},
		{"one that is marked", asks("marked"), true},
		{"the account that makes runs", asks(contract.AccountSubmit), false},
		{"one that says no", asks("unmarked"), false},
		{"none that is there", asks("nobody"), false},
		{"one task has another account", func(pr *tektonv1.PipelineRun) {
			asks(contract.AccountRunner)(pr)
			pr.Spec.TaskRunSpecs = []tektonv1.PipelineTaskRunSpec{
				{PipelineTaskName: contract.Collect, ServiceAccountName: contract.AccountSubmit}}
		}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, 4)
			for _, o := range []*corev1.ServiceAccount{account("marked", "true"), account("unmarked", "false"),
				account(contract.AccountSubmit, "")} {
				w.Must(w.Client.Create(t.Context(), o))
			}
			w.submit("a", row.edit)
			w.settle()
			pr := w.Run("a")
			if started := run.Started(pr); started != row.starts {
				t.Errorf("started: %v", started)
			}
			if !row.starts && (!w.saw("WrongAccount") || !strings.Contains(pr.Annotations[contract.AnnotationReason],
				contract.LabelForRuns+"=true") || len(w.Workloads()) > 0) {
				t.Errorf("it says %q, and has %d Workloads", pr.Annotations[contract.AnnotationReason], len(w.Workloads()))
			}
		})
	}
}

func TestARunThatCannotStartLeavesTheQueue(t *testing.T) {
	w := newWorld(t, 4)
	w.submit("a")
	refusal := apierrors.NewBadRequest("admission webhook denied: only status updates are allowed")
	w.with(failing(w.Client, func(call string) error {
		if call == "patch PipelineRun a" && w.held() > 0 && w.Run("a").Annotations[contract.AnnotationReason] == "" &&
			*active(w) {
			return refusal
		}
		return nil
	}))
	w.Must(w.reconcile())
	w.Must(w.reconcile())
	w.kueue()
	w.Must(w.reconcile())
	if *active(w) || !w.saw("CannotStart") {
		t.Fatalf("it holds quota for nothing:\n%s", w.snapshot(false))
	}
}

func TestARunThatTektonLetsNobodyChangeIsSaid(t *testing.T) {
	w := newWorld(t, 4)
	w.submit("a")
	w.opts.Prebuilt = true
	w.with(failing(w.Client, func(string) error { return apierrors.NewBadRequest("admission webhook denied") }))
	w.Must(w.reconcile())
	if !w.saw("CannotQueue") || len(w.Workloads()) > 0 {
		t.Fatal(w.snapshot(false))
	}
}

func active(w *world) *bool {
	yes := true
	for _, wl := range w.Workloads() {
		if wl.Spec.Active != nil {
			return wl.Spec.Active
		}
	}
	return &yes
}

func TestPrebuiltWorkloadsCarryTheQueueAndTheRunDoesNot(t *testing.T) {
	w := newWorld(t, 4)
	w.opts.Prebuilt = true
	w.with(w.Client)
	w.submit("a")
	w.settle()
	pr := w.Run("a")
	if _, labelled := pr.Labels[contract.LabelQueue]; labelled || run.Queue(pr) != "local" || pr.IsPending() ||
		w.held() != 4 {
		t.Fatalf("labels %v, queue %q:\n%s", pr.Labels, run.Queue(pr), w.snapshot(false))
	}
	if got := w.Workloads(); len(got) != 1 || got[0].Spec.QueueName != "local" || !metav1.IsControlledBy(&got[0], pr) {
		t.Fatalf("Workloads: %+v", got)
	}
	w.succeed("a")
	w.settle()
	if !run.Released(w.Run("a")) || w.held() != 0 {
		t.Fatalf("it was not released:\n%s", w.snapshot(false))
	}
}

// TestARunIsReleasedWhereItWasLetStart: its label may be changed by whoever may write it where no policy forbids
// that, and its devices are where they are.
func TestARunIsReleasedWhereItWasLetStart(t *testing.T) {
	for _, label := range []string{"worker", "nowhere"} {
		t.Run("it says "+label, func(t *testing.T) {
			w := newWorld(t, 8)
			elsewhere := target.Local(w.Client, nil)
			elsewhere.Name, elsewhere.Live = "worker", newWorld(t, 8).Client
			w.opts.Targets.Put(elsewhere)
			w.submit("a")
			w.settle()
			w.stuck = true
			w.EditRun("a", func(pr *tektonv1.PipelineRun) {
				pr.Labels[contract.LabelTarget] = label
				pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled
			})
			w.tekton()
			for range 5 {
				w.Must(w.reconcile())
				w.tekton()
				w.restuck()
			}
			if run.Released(w.Run("a")) || run.Freed(w.Run("a")) || w.held() != 4 {
				t.Fatalf("its pods are there, and its quota is %d:\n%s", w.held(), w.snapshot(false))
			}
			w.stuck = false
			w.settle()
			if !run.Released(w.Run("a")) || w.held() != 0 || strings.Contains(w.snapshot(false), "engine") {
				t.Fatalf("it does not end:\n%s", w.snapshot(false))
			}
		})
	}
}
