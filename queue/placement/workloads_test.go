package placement

import (
	"log/slog"
	"testing"
	"time"

	"bflow.dev/bflow/queue/capacity"
	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// workloadsTest is a world with one target, lab, and its reconciler.
type workloadsTest struct {
	*queuetest.World
	target *queuetest.Sight
	r      *WorkloadReconciler
}

func newWorkloadsTest(t *testing.T, nodes ...corev1.Node) *workloadsTest {
	t.Helper()
	w := &workloadsTest{World: queuetest.New(t, time.Unix(1000, 0),
		&kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "lab"}},
		queuetest.MakeQueue("q", "lab"), queuetest.MakeQueue("other", "other")), target: &queuetest.Sight{Nodes: nodes}}
	targets := target.NewRegistry(target.Target{Name: "lab", Sight: w.target})
	w.r = newWorkloadReconciler(w.Client, Options{Targets: targets, Log: slog.New(slog.DiscardHandler)}, w.Clock)
	return w
}

// run adds a run that waits in a queue, and its Workload.
func (w *workloadsTest) run(name, queue, requests string, edits ...queuetest.WorkloadEdit) {
	w.T.Helper()
	pr := queuetest.MakeRun(name, queuetest.Requests(requests), queuetest.Pending)
	wl := queuetest.MakeWorkload(pr, edits...)
	wl.Spec.QueueName = kueue.LocalQueueName(queue)
	w.Create(pr, wl)
}

// look lets the capacity of the target be written, as it would be, and then the reconciler look.
func (w *workloadsTest) look() time.Duration {
	w.T.Helper()
	inv, _ := w.target.Inventory(w.T.Context(), foreign)
	queue := &kueue.ClusterQueue{}
	if err := w.Client.Get(w.T.Context(), client.ObjectKey{Name: "lab"}, queue); err != nil {
		w.T.Fatal(err)
	}
	queue.Spec.ResourceGroups = capacity.Groups(queue.Spec.ResourceGroups, "lab", inv.Quota())
	if err := w.Client.Update(w.T.Context(), queue); err != nil {
		w.T.Fatal(err)
	}
	result, err := w.r.Reconcile(w.T.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "lab"}})
	if err != nil {
		w.T.Fatal(err)
	}
	return result.RequeueAfter
}

// want compares what the Workload of a run says.
func (w *workloadsTest) want(name string, queued bool, why string) {
	w.T.Helper()
	wl := &kueue.Workload{}
	if err := w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: "bench", Name: name}, wl); err != nil {
		w.T.Fatal(err)
	}
	if isActive(wl) != queued || wl.Annotations[run.AnnotationTooBig] != why {
		w.T.Errorf("run %s: queued %v, why %q; want %v, %q", name, isActive(wl), wl.Annotations[run.AnnotationTooBig], queued,
			why)
	}
}

func TestARunThatIsTooBigMakesWayAtOnceAndComesBackWhenTheTargetGrows(t *testing.T) {
	w := newWorkloadsTest(t, queuetest.MakeNode("a", 8))
	w.run("big", "q", `{"nvidia.com/gpu":"16"}`)
	w.run("small", "q", `{"nvidia.com/gpu":"8"}`)
	w.run("elsewhere", "other", `{"nvidia.com/gpu":"16"}`)
	w.look()
	w.want("big", false, `asks for 16 nvidia.com/gpu, and target "lab" has 8 in all`)
	w.want("small", true, "")
	w.want("elsewhere", true, "")

	w.target.Nodes = append(w.target.Nodes, queuetest.MakeNode("b", 4))
	w.look()
	w.want("big", false, `asks for 16 nvidia.com/gpu, and target "lab" has 12 in all`)

	w.target.Nodes = append(w.target.Nodes, queuetest.MakeNode("c", 4))
	w.look()
	w.want("big", true, "")
}

func TestARunThatIsTooBigForNowHasAGrace(t *testing.T) {
	w := newWorkloadsTest(t, queuetest.MakeNode("a", 8), queuetest.MakeNode("b", 8, queuetest.Cordoned))
	w.run("r", "q", `{"nvidia.com/gpu":"16"}`)
	if again := w.look(); again != DeactivationGrace {
		t.Errorf("it looks again after %s, want %s", again, DeactivationGrace)
	}
	w.want("r", true, "")
	w.Clock.Step(DeactivationGrace - time.Second)
	if again := w.look(); again != time.Second {
		t.Errorf("it looks again after %s, want 1s", again)
	}
	w.want("r", true, "")
	w.Clock.Step(time.Second)
	w.look()
	w.want("r", false, `asks for 16 nvidia.com/gpu, and target "lab" has 8 now (no pods on b (cordoned))`)

	w.target.Nodes[1].Spec.Unschedulable = false
	w.look()
	w.want("r", true, "")

	w.target.Nodes[1].Spec.Unschedulable = true // the grace begins anew
	w.look()
	w.want("r", true, "")
}

func TestARunThatTheCheckHasHeldInVainHasNoGrace(t *testing.T) {
	w := newWorkloadsTest(t, queuetest.MakeNode("a", 8, queuetest.Cordoned), queuetest.MakeNode("b", 4))
	w.run("r", "q", `{"nvidia.com/gpu":"8"}`, queuetest.EvictedByCheck)
	w.run("fits", "q", `{"nvidia.com/gpu":"4"}`, queuetest.EvictedByCheck)
	w.look()
	w.want("r", false, `asks for 8 nvidia.com/gpu, and target "lab" has 4 now (no pods on a (cordoned))`)
	w.want("fits", true, "")
}

func TestWhoHoldsQuotaOrWasTakenOutByAPersonIsLeftAlone(t *testing.T) {
	w := newWorkloadsTest(t)
	w.run("holding", "q", `{"nvidia.com/gpu":"16"}`, queuetest.WithQuota)
	w.run("out", "q", `{}`, queuetest.Deactivated)
	w.look()
	w.want("holding", true, "")
	w.want("out", false, "")
}

func TestATargetThatDoesNotAnswerIsNotJudged(t *testing.T) {
	w := newWorkloadsTest(t)
	w.target.Answers = view.Reach{Since: time.Unix(900, 0), Why: "refused"}
	w.run("r", "q", `{"nvidia.com/gpu":"16"}`)
	w.look()
	w.want("r", true, "")
}
