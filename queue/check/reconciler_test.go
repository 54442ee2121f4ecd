package check

import (
	"context"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/queue/lock"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"

	"github.com/google/go-cmp/cmp"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// sightOf is a target of nodes and pods in memory.
type sightOf struct {
	nodes []corev1.Node
	pods  []corev1.Pod
	reach view.Reach
	blind bool
}

func (s *sightOf) Ready() bool       { return !s.blind }
func (s *sightOf) Reach() view.Reach { return s.reach }
func (s *sightOf) Inventory(_ context.Context, owner devices.Owner) (*devices.Inventory, error) {
	inv := devices.Of(s.nodes, nil)
	inv.Hold(s.pods, nil, owner)
	return inv, nil
}

type world struct {
	t      *testing.T
	client client.Client
	target *sightOf
	r      *Reconciler
	serial int
}

func newWorld(t *testing.T, nodes ...corev1.Node) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kueue.AddToScheme, tektonv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{t: t, target: &sightOf{nodes: nodes, reach: up()}}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithIndex(&tektonv1.PipelineRun{}, run.Index, run.IndexOf).WithIndex(&tektonv1.PipelineRun{}, run.IndexID, run.IDOf).WithIndex(&kueue.Workload{}, index, indexOf).WithStatusSubresource(&kueue.Workload{}, &kueue.AdmissionCheck{}).WithObjects(
		&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Spec: kueue.ResourceFlavorSpec{NodeLabels: map[string]string{"bflow.dev/target": "local"}}},
		&kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "bflow-local"}, Spec: kueue.AdmissionCheckSpec{
			ControllerName: ControllerName, Parameters: &kueue.AdmissionCheckParametersReference{APIGroup: "kueue.x-k8s.io", Kind: "ResourceFlavor", Name: "local"},
		}},
		&kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: kueue.AdmissionCheckSpec{ControllerName: "example.com/x"}},
		&kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "lost"}, Spec: kueue.AdmissionCheckSpec{
			ControllerName: ControllerName, Parameters: &kueue.AdmissionCheckParametersReference{APIGroup: "kueue.x-k8s.io", Kind: "ResourceFlavor", Name: "gone"},
		}},
	).Build()
	targets := target.NewRegistry(target.Local(w.client, w.target))
	w.r = newReconciler(w.client, Options{Targets: targets, Hub: "hub"}, clocktesting.NewFakeClock(now))
	return w
}

// run adds a run of some pods that holds quota, and its Workload; the name of one in another namespace than bench is
// NAMESPACE/NAME.
func (w *world) run(name, pods string, conditions ...string) {
	w.t.Helper()
	w.serial++
	namespace, name, other := strings.Cut(name, "/")
	if !other {
		namespace, name = "bench", namespace
	}
	pr := &tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: namespace, UID: "u", Labels: map[string]string{"bflow.dev/plan-hash": "h", "bflow.dev/run": name, "kueue.x-k8s.io/queue-name": "local"},
		Annotations: map[string]string{"bflow.dev/pods": pods, "bflow.dev/requests": map[string]string{four: `{"nvidia.com/gpu":"4"}`, eight: `{"nvidia.com/gpu":"8"}`}[pods]},
	}}
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Name: "w-" + name, Namespace: namespace, UID: types.UID(namespace + name), CreationTimestamp: metav1.NewTime(now.Add(time.Duration(w.serial-100) * time.Second)),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Name: name, UID: "u"}},
	}}
	wl.Status.AdmissionChecks = []kueue.AdmissionCheckState{
		{Name: "bflow-local", State: kueue.CheckStatePending, LastTransitionTime: metav1.NewTime(ago(time.Minute))},
	}
	for _, c := range append(conditions, kueue.WorkloadQuotaReserved) {
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: c, Status: metav1.ConditionTrue, Reason: "x", LastTransitionTime: metav1.NewTime(ago(time.Second))})
	}
	for _, o := range []client.Object{pr, wl} {
		if err := w.client.Create(w.t.Context(), o); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) annotate(run, key, value string) {
	w.t.Helper()
	pr := &tektonv1.PipelineRun{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "bench", Name: run}, pr); err != nil {
		w.t.Fatal(err)
	}
	pr.Annotations[key] = value
	if err := w.client.Update(w.t.Context(), pr); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) reconcile(check string) {
	w.t.Helper()
	if _, err := w.r.Reconcile(w.t.Context(), request(check)); err != nil {
		w.t.Fatal(err)
	}
}

// states are the answers of the check by run.
func (w *world) states() map[string]kueue.CheckState {
	w.t.Helper()
	var list kueue.WorkloadList
	if err := w.client.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
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
	w.t.Helper()
	if diff := cmp.Diff(states, w.states()); diff != "" {
		w.t.Errorf("states (-want +got):\n%s", diff)
	}
}

const (
	four  = `[{"count":1,"requests":{"nvidia.com/gpu":"4"}}]`
	eight = `[{"count":1,"requests":{"nvidia.com/gpu":"8"}}]`

	isReady, isPending = kueue.CheckStateReady, kueue.CheckStatePending
)

func TestRunsOfATargetInTheirOrder(t *testing.T) {
	w := newWorld(t, node("a", 8))
	w.run("r1", four)
	w.run("r2", four)
	w.run("r3", four)
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"r1": isReady, "r2": isReady, "r3": isPending})

	// r1 starts and its pod is bound: what it was assumed to take is now seen, and nothing changes.
	w.annotate("r1", "bflow.dev/admitted", "now")
	w.target.pods = []corev1.Pod{pod("a", 4, "r1")}
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"r1": isReady, "r2": isReady, "r3": isPending})

	// Its pod goes, but nobody has verified that yet.
	w.target.pods = nil
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"r1": isReady, "r2": isReady, "r3": isPending})

	w.annotate("r1", "bflow.dev/freed", "now")
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"r1": isReady, "r2": isReady, "r3": isReady})
}

func TestRunsOfTwoTeamsWithOneNameHoldTheirOwnDevices(t *testing.T) {
	w := newWorld(t, node("a", 8))
	w.run("nightly", four)
	w.run("red/nightly", four)
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"nightly": isReady, "red/nightly": isReady})

	// The first has its devices; the second is still to take the other four.
	w.annotate("nightly", "bflow.dev/admitted", "now")
	w.target.pods = []corev1.Pod{pod("a", 4, "nightly")}
	w.run("third", four)
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"nightly": isReady, "red/nightly": isReady, "third": isPending})
}

// TestTheWorkloadOfARunThatIsGoneIsNotThatOfTheNextOneOfItsName: the garbage collector has not come yet.
func TestTheWorkloadOfARunThatIsGoneIsNotThatOfTheNextOneOfItsName(t *testing.T) {
	w := newWorld(t, node("a", 8))
	w.run("r", eight)
	pr := &tektonv1.PipelineRun{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: "r"}, pr); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), pr); err != nil {
		t.Fatal(err)
	}
	pr.UID, pr.ResourceVersion = "v", ""
	if err := w.client.Create(t.Context(), pr); err != nil {
		t.Fatal(err)
	}
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"r": isPending})
}

func TestARunThatSaysLessOfItsPodsThanItAsksForIsRefused(t *testing.T) {
	w := newWorld(t, node("a", 8))
	w.run("first", eight)
	w.run("sly", eight)
	w.annotate("sly", "bflow.dev/pods", "[]")
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"first": isReady, "sly": kueue.CheckStateRejected})
}

func TestWhatIsNotAskedIsNotAnswered(t *testing.T) {
	w := newWorld(t, node("a", 8))
	w.target.reach = view.Reach{Since: ago(time.Hour), Why: "refused"} // whoever is asked is told to stay away
	w.run("admitted", four, kueue.WorkloadAdmitted)
	w.run("evicted", four, kueue.WorkloadEvicted)
	w.run("finished", four, kueue.WorkloadFinished)
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"admitted": isPending, "evicted": isPending, "finished": isPending})
	w.run("asked", four)
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"admitted": isPending, "evicted": isPending, "finished": isPending, "asked": kueue.CheckStateRetry})
}

func TestAnOldViewOfTheCacheIsNotActedOn(t *testing.T) {
	w := newWorld(t, node("a", 8))
	w.run("r1", eight)
	wl := &kueue.Workload{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: "w-r1"}, wl); err != nil {
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
	w := newWorld(t, node("a", 8))
	w.run("old", four, kueue.WorkloadFinished)
	w.annotate("old", "bflow.dev/admitted", "then")
	w.annotate("old", "bflow.dev/released", "now")
	w.target.pods = []corev1.Pod{pod("a", 4, "old")}
	w.run("r", eight)
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"old": isPending, "r": isPending})
}

func TestWhetherACheckIsAnswered(t *testing.T) {
	w := newWorld(t)
	for check, want := range map[string]metav1.ConditionStatus{"bflow-local": metav1.ConditionTrue, "lost": metav1.ConditionFalse, "other": ""} {
		w.reconcile(check)
		ac := &kueue.AdmissionCheck{}
		if err := w.client.Get(t.Context(), client.ObjectKey{Name: check}, ac); err != nil {
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
	w := newWorld(t, node("a", 8))
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
		result, err := w.r.answer(t.Context(), "bflow-local", found.waiting, Sight{Target: "local", Reach: up(), Inventory: inventory([]corev1.Node{node("a", 8)}), Door: door})
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
