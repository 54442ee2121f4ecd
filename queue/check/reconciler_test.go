package check

import (
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/queue/lock"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	"github.com/google/go-cmp/cmp"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// world is one with a target, local, whose check the reconciler answers.
type world struct {
	*queuetest.World
	target *queuetest.Sight
	r      *Reconciler
	serial int
}

func newWorld(t *testing.T, nodes ...corev1.Node) *world {
	t.Helper()
	c := queuetest.Builder(t).WithIndex(&kueue.Workload{}, index, indexOf).WithStatusSubresource(&kueue.Workload{},
		&kueue.AdmissionCheck{}).WithObjects(
		&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "local"},
			Spec: kueue.ResourceFlavorSpec{NodeLabels: map[string]string{"bflow.dev/target": "local"}}},
		&kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "bflow-local"}, Spec: kueue.AdmissionCheckSpec{
			ControllerName: ControllerName, Parameters: &kueue.AdmissionCheckParametersReference{APIGroup: "kueue.x-k8s.io",
				Kind: "ResourceFlavor", Name: "local"},
		}},
		&kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "other"},
			Spec: kueue.AdmissionCheckSpec{ControllerName: "example.com/x"}},
		&kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "lost"}, Spec: kueue.AdmissionCheckSpec{
			ControllerName: ControllerName, Parameters: &kueue.AdmissionCheckParametersReference{APIGroup: "kueue.x-k8s.io",
				Kind: "ResourceFlavor", Name: "gone"},
		}},
	).Build()
	w := &world{World: queuetest.With(t, now, c), target: &queuetest.Sight{Nodes: nodes, Answers: up()}}
	w.r = newReconciler(c, Options{Targets: target.NewRegistry(target.Local(c, w.target)), Hub: "hub"}, w.Clock)
	return w
}

// run adds a run of some pods that holds quota, and its Workload; the name of one in another namespace than bench is
// NAMESPACE/NAME.
func (w *world) run(name, pods string, conditions ...string) {
	w.T.Helper()
	w.serial++
	namespace, name, other := strings.Cut(name, "/")
	if !other {
		namespace, name = "bench", namespace
	}
	requests := map[string]string{four: `{"nvidia.com/gpu":"4"}`, eight: `{"nvidia.com/gpu":"8"}`}[pods]
	pr := queuetest.MakeRun(name, queuetest.Identified, queuetest.InQueue("local"), queuetest.Requests(requests),
		queuetest.Annotated(contract.AnnotationPods, pods))
	pr.Namespace, pr.UID = namespace, "u"
	wl := queuetest.MakeWorkload(pr)
	wl.Name, wl.UID = "w-"+name, types.UID(namespace+name)
	wl.CreationTimestamp = metav1.NewTime(now.Add(time.Duration(w.serial-100) * time.Second))
	wl.Status.AdmissionChecks = []kueue.AdmissionCheckState{
		{Name: "bflow-local", State: kueue.CheckStatePending, LastTransitionTime: metav1.NewTime(ago(time.Minute))},
	}
	for _, c := range append(conditions, kueue.WorkloadQuotaReserved) {
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: c, Status: metav1.ConditionTrue, Reason: "x",
			LastTransitionTime: metav1.NewTime(ago(time.Second))})
	}
	w.Create(pr, wl)
}

func (w *world) annotate(run, key, value string) {
	w.T.Helper()
	w.EditRun(run, func(pr *tektonv1.PipelineRun) { pr.Annotations[key] = value })
}

func (w *world) reconcile(check string) {
	w.T.Helper()
	if _, err := w.r.Reconcile(w.T.Context(), request(check)); err != nil {
		w.T.Fatal(err)
	}
}

// states are the answers of the check by run.
func (w *world) states() map[string]kueue.CheckState {
	w.T.Helper()
	var list kueue.WorkloadList
	if err := w.Client.List(w.T.Context(), &list); err != nil {
		w.T.Fatal(err)
	}
	out := map[string]kueue.CheckState{}
	for i := range list.Items {
		name := list.Items[i].OwnerReferences[0].Name
		if list.Items[i].Namespace != "bench" {
			name = list.Items[i].Namespace + "/" + name
		}
		out[name] = stateOf(&list.Items[i], "bflow-local").State
	}
	return out
}

func (w *world) want(states map[string]kueue.CheckState) {
	w.T.Helper()
	if diff := cmp.Diff(states, w.states()); diff != "" {
		w.T.Errorf("states (-want +got):\n%s", diff)
	}
}

const (
	four  = `[{"count":1,"requests":{"nvidia.com/gpu":"4"}}]`
	eight = `[{"count":1,"requests":{"nvidia.com/gpu":"8"}}]`

	isReady, isPending = kueue.CheckStateReady, kueue.CheckStatePending
)

func TestRunsOfATargetInTheirOrder(t *testing.T) {
	w := newWorld(t, queuetest.MakeNode("a", 8))
	w.run("r1", four)
	w.run("r2", four)
	w.run("r3", four)
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"r1": isReady, "r2": isReady, "r3": isPending})

	// r1 starts and its pod is bound: what it was assumed to take is now seen, and nothing changes.
	w.annotate("r1", "bflow.dev/admitted", "now")
	w.target.Pods = []corev1.Pod{pod("a", 4, "r1")}
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"r1": isReady, "r2": isReady, "r3": isPending})

	// Its pod goes, but nobody has verified that yet.
	w.target.Pods = nil
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"r1": isReady, "r2": isReady, "r3": isPending})

	w.annotate("r1", "bflow.dev/freed", "now")
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"r1": isReady, "r2": isReady, "r3": isReady})
}

func TestRunsOfTwoTeamsWithOneNameHoldTheirOwnDevices(t *testing.T) {
	w := newWorld(t, queuetest.MakeNode("a", 8))
	w.run("nightly", four)
	w.run("red/nightly", four)
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"nightly": isReady, "red/nightly": isReady})

	// The first has its devices; the second is still to take the other four.
	w.annotate("nightly", "bflow.dev/admitted", "now")
	w.target.Pods = []corev1.Pod{pod("a", 4, "nightly")}
	w.run("third", four)
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"nightly": isReady, "red/nightly": isReady, "third": isPending})
}

// TestTheWorkloadOfARunThatIsGoneIsNotThatOfTheNextOneOfItsName: the garbage collector has not come yet.
func TestTheWorkloadOfARunThatIsGoneIsNotThatOfTheNextOneOfItsName(t *testing.T) {
	w := newWorld(t, queuetest.MakeNode("a", 8))
	w.run("r", eight)
	pr := &tektonv1.PipelineRun{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: "r"}, pr); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Delete(t.Context(), pr); err != nil {
		t.Fatal(err)
	}
	pr.UID, pr.ResourceVersion = "v", ""
	if err := w.Client.Create(t.Context(), pr); err != nil {
		t.Fatal(err)
	}
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"r": isPending})
}

func TestARunThatSaysLessOfItsPodsThanItAsksForIsRefused(t *testing.T) {
	w := newWorld(t, queuetest.MakeNode("a", 8))
	w.run("first", eight)
	w.run("sly", eight)
	w.annotate("sly", "bflow.dev/pods", "[]")
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"first": isReady, "sly": kueue.CheckStateRejected})
}

func TestWhatIsNotAskedIsNotAnswered(t *testing.T) {
	w := newWorld(t, queuetest.MakeNode("a", 8))
	w.target.Answers = view.Reach{Since: ago(time.Hour), Why: "refused"} // whoever is asked is told to stay away
	w.run("admitted", four, kueue.WorkloadAdmitted)
	w.run("evicted", four, kueue.WorkloadEvicted)
	w.run("finished", four, kueue.WorkloadFinished)
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"admitted": isPending, "evicted": isPending, "finished": isPending})
	w.run("asked", four)
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"admitted": isPending, "evicted": isPending, "finished": isPending,
		"asked": kueue.CheckStateRetry})
}

func TestAnOldViewOfTheCacheIsNotActedOn(t *testing.T) {
	w := newWorld(t, queuetest.MakeNode("a", 8))
	w.run("r1", eight)
	wl := &kueue.Workload{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: "w-r1"}, wl); err != nil {
		t.Fatal(err)
	}
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"r1": isReady})
	if !w.r.written.stale("bflow-local", []reservation{{workload: wl}}) {
		t.Error("a cache that still shows the old version is waited for")
	}
	if err := w.r.write(t.Context(), "bflow-local", wl, pending("x")); err == nil {
		t.Error("an old version must not be answered")
	}
	w.want(map[string]kueue.CheckState{"r1": isReady})
}

func TestLeftoversOfAReleasedRunAreForeign(t *testing.T) {
	w := newWorld(t, queuetest.MakeNode("a", 8))
	w.run("old", four, kueue.WorkloadFinished)
	w.annotate("old", "bflow.dev/admitted", "then")
	w.annotate("old", "bflow.dev/released", "now")
	w.target.Pods = []corev1.Pod{pod("a", 4, "old")}
	w.run("r", eight)
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"old": isPending, "r": isPending})
}

func TestWhetherACheckIsAnswered(t *testing.T) {
	w := newWorld(t)
	for check, want := range map[string]metav1.ConditionStatus{"bflow-local": metav1.ConditionTrue,
		"lost": metav1.ConditionFalse, "other": ""} {
		w.reconcile(check)
		ac := &kueue.AdmissionCheck{}
		if err := w.Client.Get(t.Context(), client.ObjectKey{Name: check}, ac); err != nil {
			t.Fatal(err)
		}
		var got metav1.ConditionStatus
		if c := meta.FindStatusCondition(ac.Status.Conditions, kueue.AdmissionCheckActive); c != nil {
			got = c.Status
		}
		if got != want {
			t.Errorf("check %s: active is %q, want %q", check, got, want)
		}
	}
	w.reconcile("nothing")
}

// TestWhatPassesByItselfIsNotTold: thousands of runs would make it thousands of writes.
func TestWhatPassesByItselfIsNotTold(t *testing.T) {
	w := newWorld(t, queuetest.MakeNode("a", 8))
	w.run("r1", four) // its quota was reserved a second ago
	clock := w.r.clock.(*clocktesting.FakeClock)
	for _, row := range []struct {
		after time.Duration
		soon  bool
		want  string
	}{
		{time.Second, true, ""},
		{answerReportDelay, true, "Reading the lock"},
		{time.Second, false, "Hub x uses it"},
	} {
		clock.SetTime(ago(time.Second).Add(row.after))
		found, err := w.r.reservations(t.Context(), "bflow-local")
		if err != nil {
			t.Fatal(err)
		}
		text := "Reading the lock"
		if !row.soon {
			text = "Hub x uses it"
		}
		door := &doorOf{answers: map[string]lock.Answer{"": {Reason: text, Soon: row.soon}}}
		result, err := w.r.answer(t.Context(), "bflow-local", found.waiting,
			Sight{Target: "local", Reach: up(), Inventory: inventory([]corev1.Node{queuetest.MakeNode("a", 8)}), Door: door})
		if err != nil {
			t.Fatal(err)
		}
		after, err := w.r.reservations(t.Context(), "bflow-local")
		if err != nil {
			t.Fatal(err)
		}
		if got := stateOf(after.waiting[0].workload, "bflow-local"); got.Message != row.want || got.State != isPending {
			t.Errorf("%s after the reservation it says %s %q, want %q", row.after, got.State, got.Message, row.want)
		}
		if untold := row.want == ""; untold != (result.RequeueAfter > 0) {
			t.Errorf("%s after the reservation it comes again after %s", row.after, result.RequeueAfter)
		}
	}
}
