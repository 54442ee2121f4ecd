package capacity

import (
	"testing"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// of moves a pod to another namespace.
func of(namespace string, p corev1.Pod) corev1.Pod {
	p.Namespace = namespace
	return p
}

// makeRun is a run in the queue that was let start.
func makeRun(name string) *tektonv1.PipelineRun {
	return queuetest.MakeRun(name, queuetest.Identified, queuetest.InQueue("local"),
		queuetest.Annotated(contract.AnnotationAdmitted, "then"))
}

func TestQuotaFollowsTheTarget(t *testing.T) {
	released, unqueued := makeRun("released"), makeRun("unqueued")
	released.Annotations["bflow.dev/released"] = "now"
	delete(unqueued.Labels, "kueue.x-k8s.io/queue-name")
	queue := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "local"},
		Spec: kueue.ClusterQueueSpec{QueueingStrategy: kueue.StrictFIFO}}
	c := queuetest.Builder(t).WithObjects(queue, makeRun("held"), released, unqueued).Build()
	instruments := queuetest.Metrics(t)
	sight := &queuetest.Sight{Nodes: []corev1.Node{queuetest.MakeNode("a", 8, queuetest.H100),
		queuetest.MakeNode("b", 8, queuetest.H100)}, Answers: view.Reach{Up: true}}
	r := &QuotaReconciler{client: c, targets: target.NewRegistry(target.Local(c, sight)), hub: "here",
		metrics: instruments}
	run := func(name string, more ...string) map[string]string {
		labels := map[string]string{"bflow.dev/run": name}
		if len(more) > 0 {
			labels["bflow.dev/hub"] = more[0]
		}
		return labels
	}
	lost := queuetest.MakeNode("b", 8, queuetest.H100)
	lost.Status.Conditions[0].Status = corev1.ConditionUnknown
	for _, row := range []struct {
		name  string
		nodes []corev1.Node
		pods  []corev1.Pod
		want  int64
	}{
		{"all of it", nil, nil, 16},
		{"what a run holds stays promised", nil, []corev1.Pod{queuetest.MakePod("a", 4, run("held", "here"))}, 16},
		{"what somebody else holds is not", nil, []corev1.Pod{queuetest.MakePod("a", 4, nil)}, 12},
		{"a run of the same name of another hub is somebody else", nil,
			[]corev1.Pod{queuetest.MakePod("a", 4, run("held", "there"))}, 12},
		{"so is one of the same name of another team", nil,
			[]corev1.Pod{of("red", queuetest.MakePod("a", 4, run("held", "here")))}, 12},
		{"so is a run that was released and left a pod", nil,
			[]corev1.Pod{queuetest.MakePod("a", 4, run("released", "here"))}, 12},
		{"so is a run that no queue let start", nil, []corev1.Pod{queuetest.MakePod("a", 4, run("unqueued", "here"))}, 12},
		{"a node that is lost promises only what is held on it",
			[]corev1.Node{queuetest.MakeNode("a", 8, queuetest.H100), lost},
			[]corev1.Pod{queuetest.MakePod("b", 4, run("held", "here")), queuetest.MakePod("b", 1, nil)}, 12},
		{"a node that is gone promises nothing", []corev1.Node{queuetest.MakeNode("a", 8, queuetest.H100)}, nil, 8},
		{"no node", []corev1.Node{}, nil, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			sight.Nodes, sight.Pods = row.nodes, row.pods
			if row.nodes == nil {
				sight.Nodes = []corev1.Node{queuetest.MakeNode("a", 8, queuetest.H100), queuetest.MakeNode("b", 8, queuetest.H100)}
			}
			got := reconcileQueue(t, r, c)
			if diff := cmp.Diff(devices.Amounts{contract.ResourceSlot: 100, gpu: row.want, "bflow.dev/gpu-h100": row.want},
				Promised(got.Spec.ResourceGroups)); diff != "" {
				t.Errorf("promised (-want +got):\n%s", diff)
			}
			if got.Spec.QueueingStrategy != kueue.StrictFIFO {
				t.Error("the rest of the queue was touched")
			}
			if again := reconcileQueue(t, r, c); again.ResourceVersion != got.ResourceVersion {
				t.Error("nothing changed, and yet it was written")
			}
		})
	}
	made := func(labels map[string]string) map[string]string { // by provision
		labels["bflow.dev/release"] = "r"
		return labels
	}
	sight.Nodes, sight.Pods = []corev1.Node{queuetest.MakeNode("a", 8, queuetest.H100)}, []corev1.Pod{
		queuetest.MakePod("a", 1, nil), queuetest.MakePod("a", 1, run("held")),
		queuetest.MakePod("a", 1, made(run("forgotten", "there"))), queuetest.MakePod("a", 1, made(run("unqueued", "here"))),
		queuetest.MakePod("a", 2, made(run("forgotten", "here"))), // nobody knows that run any more
	}
	reconcileQueue(t, r, c)
	for state, want := range map[string]float64{metrics.GPUTotal: 8, metrics.GPUForeign: 5, metrics.GPUOurs: 1,
		metrics.GPULeaked: 2} {
		if got := testutil.ToFloat64(instruments.GPUs.WithLabelValues("local", gpu, state)); got != want {
			t.Errorf("metric %s is %v, want %v", state, got, want)
		}
	}
}

func reconcileQueue(t *testing.T, r *QuotaReconciler, c client.Client) *kueue.ClusterQueue {
	t.Helper()
	if _, err := r.Reconcile(t.Context(), watch.ByName("local")[0]); err != nil {
		t.Fatal(err)
	}
	queue := &kueue.ClusterQueue{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "local"}, queue); err != nil {
		t.Fatal(err)
	}
	return queue
}
