package placement

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"bflow.dev/bflow/queue/capacity"
	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// nodesAndPods is a target of nodes and pods in memory.
type nodesAndPods struct {
	nodes []corev1.Node
	pods  []corev1.Pod
	reach view.Reach
}

func (s *nodesAndPods) Ready() bool       { return true }
func (s *nodesAndPods) Reach() view.Reach { return s.reach }
func (s *nodesAndPods) Inventory(_ context.Context, owner devices.Owner) (*devices.Inventory, error) {
	inv := devices.Of(s.nodes, nil)
	inv.Hold(s.pods, nil, owner)
	return inv, nil
}

type workloadsTest struct {
	t      *testing.T
	client client.Client
	target *nodesAndPods
	clock  *clocktesting.FakeClock
	r      *WorkloadReconciler
}

func newWorkloadsTest(t *testing.T, nodes ...corev1.Node) *workloadsTest {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kueue.AddToScheme, tektonv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &workloadsTest{t: t, target: &nodesAndPods{nodes: nodes}, clock: clocktesting.NewFakeClock(time.Unix(1000, 0))}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithIndex(&tektonv1.PipelineRun{}, run.Index, run.IndexOf).WithIndex(&tektonv1.PipelineRun{}, run.IndexID, run.IDOf).WithObjects(
		&kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "lab"}},
		&kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: "bench"}, Spec: kueue.LocalQueueSpec{ClusterQueue: "lab"}},
		&kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "bench"}, Spec: kueue.LocalQueueSpec{ClusterQueue: "other"}},
	).Build()
	targets := target.NewRegistry(target.Target{Name: "lab", Sight: w.target})
	w.r = newWorkloadReconciler(w.client, Options{Targets: targets, Log: slog.New(slog.DiscardHandler)}, w.clock)
	return w
}

// run adds a run that waits in a queue, and its Workload.
func (w *workloadsTest) run(name, queue, requests string, edits ...func(*kueue.Workload)) {
	w.t.Helper()
	yes := true
	pr := &tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "bench", UID: types.UID(name),
		Labels: map[string]string{"bflow.dev/plan-hash": "h"}, Annotations: map[string]string{"bflow.dev/requests": requests},
	}, Spec: tektonv1.PipelineRunSpec{Status: tektonv1.PipelineRunSpecStatusPending}}
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "bench", UID: types.UID("w-" + name),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Name: name, UID: types.UID(name), Controller: &yes}},
	}, Spec: kueue.WorkloadSpec{QueueName: kueue.LocalQueueName(queue)}}
	for _, edit := range edits {
		edit(wl)
	}
	for _, o := range []client.Object{pr, wl} {
		if err := w.client.Create(w.t.Context(), o); err != nil {
			w.t.Fatal(err)
		}
	}
}

func giveQuota(wl *kueue.Workload) {
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue, Reason: "x"})
}

func evictByCheck(wl *kueue.Workload) {
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue, Reason: kueue.WorkloadEvictedByAdmissionCheck})
}

func deactivate(wl *kueue.Workload) { wl.Spec.Active = new(bool) }

// look lets the capacity of the target be written, as it would be, and then the reconciler look.
func (w *workloadsTest) look() time.Duration {
	w.t.Helper()
	inv, _ := w.target.Inventory(w.t.Context(), foreign)
	queue := &kueue.ClusterQueue{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Name: "lab"}, queue); err != nil {
		w.t.Fatal(err)
	}
	queue.Spec.ResourceGroups = capacity.Groups(queue.Spec.ResourceGroups, "lab", inv.Quota())
	if err := w.client.Update(w.t.Context(), queue); err != nil {
		w.t.Fatal(err)
	}
	result, err := w.r.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "lab"}})
	if err != nil {
		w.t.Fatal(err)
	}
	return result.RequeueAfter
}

// want compares what the Workload of a run says.
func (w *workloadsTest) want(name string, queued bool, why string) {
	w.t.Helper()
	wl := &kueue.Workload{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "bench", Name: name}, wl); err != nil {
		w.t.Fatal(err)
	}
	if isActive(wl) != queued || wl.Annotations[run.AnnotationTooBig] != why {
		w.t.Errorf("run %s: queued %v, why %q; want %v, %q", name, isActive(wl), wl.Annotations[run.AnnotationTooBig], queued, why)
	}
}

func TestARunThatIsTooBigMakesWayAtOnceAndComesBackWhenTheTargetGrows(t *testing.T) {
	w := newWorkloadsTest(t, node("a", 8))
	w.run("big", "q", `{"nvidia.com/gpu":"16"}`)
	w.run("small", "q", `{"nvidia.com/gpu":"8"}`)
	w.run("elsewhere", "other", `{"nvidia.com/gpu":"16"}`)
	w.look()
	w.want("big", false, `asks for 16 nvidia.com/gpu, and target "lab" has 8 in all`)
	w.want("small", true, "")
	w.want("elsewhere", true, "")

	w.target.nodes = append(w.target.nodes, node("b", 4))
	w.look()
	w.want("big", false, `asks for 16 nvidia.com/gpu, and target "lab" has 12 in all`)

	w.target.nodes = append(w.target.nodes, node("c", 4))
	w.look()
	w.want("big", true, "")
}

func TestARunThatIsTooBigForNowHasAGrace(t *testing.T) {
	w := newWorkloadsTest(t, node("a", 8), node("b", 8, cordoned))
	w.run("r", "q", `{"nvidia.com/gpu":"16"}`)
	if again := w.look(); again != DeactivationGrace {
		t.Errorf("it looks again after %s, want %s", again, DeactivationGrace)
	}
	w.want("r", true, "")
	w.clock.Step(DeactivationGrace - time.Second)
	if again := w.look(); again != time.Second {
		t.Errorf("it looks again after %s, want 1s", again)
	}
	w.want("r", true, "")
	w.clock.Step(time.Second)
	w.look()
	w.want("r", false, `asks for 16 nvidia.com/gpu, and target "lab" has 8 now (no pods on b (cordoned))`)

	w.target.nodes[1].Spec.Unschedulable = false
	w.look()
	w.want("r", true, "")

	w.target.nodes[1].Spec.Unschedulable = true // the grace begins anew
	w.look()
	w.want("r", true, "")
}

func TestARunThatTheCheckHasHeldInVainHasNoGrace(t *testing.T) {
	w := newWorkloadsTest(t, node("a", 8, cordoned), node("b", 4))
	w.run("r", "q", `{"nvidia.com/gpu":"8"}`, evictByCheck)
	w.run("fits", "q", `{"nvidia.com/gpu":"4"}`, evictByCheck)
	w.look()
	w.want("r", false, `asks for 8 nvidia.com/gpu, and target "lab" has 4 now (no pods on a (cordoned))`)
	w.want("fits", true, "")
}

func TestWhoHoldsQuotaOrWasTakenOutByAPersonIsLeftAlone(t *testing.T) {
	w := newWorkloadsTest(t)
	w.run("holding", "q", `{"nvidia.com/gpu":"16"}`, giveQuota)
	w.run("out", "q", `{}`, deactivate)
	w.look()
	w.want("holding", true, "")
	w.want("out", false, "")
}

func TestATargetThatDoesNotAnswerIsNotJudged(t *testing.T) {
	w := newWorkloadsTest(t)
	w.target.reach = view.Reach{Since: time.Unix(900, 0), Why: "refused"}
	w.run("r", "q", `{"nvidia.com/gpu":"16"}`)
	w.look()
	w.want("r", true, "")
}
