package placement

import (
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
)

// oneNode is a target of one node that answers.
func oneNode(gpus int64, since time.Time) *queuetest.Sight {
	return &queuetest.Sight{Nodes: []corev1.Node{queuetest.MakeNode("n", gpus)},
		Answers: view.Reach{Up: true, Since: since}}
}

// targetsTest is a world with three targets, and the choice among them.
type targetsTest struct {
	*queuetest.World
	sights map[string]*queuetest.Sight
	r      *TargetReconciler
	made   int
}

func newTargetsTest(t *testing.T) *targetsTest {
	t.Helper()
	w := &targetsTest{World: queuetest.New(t, time.Unix(10000, 0)), sights: map[string]*queuetest.Sight{}}
	targets := target.NewRegistry(target.Local(nil, oneNode(100, time.Time{})))
	for name, region := range map[string]string{"a": "eu", "b": "eu", "c": "us"} {
		w.sights[name] = oneNode(8, w.Clock.Now().Add(-time.Hour))
		targets.Put(target.Target{Name: name, Sight: w.sights[name]})
		w.Create(&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{"region": region}}})
		w.Create(&kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: kueue.ClusterQueueSpec{ResourceGroups: []kueue.ResourceGroup{{
				Flavors: []kueue.FlavorQuotas{{Name: kueue.ResourceFlavorReference(name),
					Resources: []kueue.ResourceQuota{{Name: queuetest.GPU, NominalQuota: resource.MustParse("8")}}}}}}}})
		w.Create(queuetest.MakeQueue(name, name))
	}
	w.r = NewTargetReconciler(w.Client, &utiltesting.EventRecorder{}, targets, "hub", w.Clock)
	return w
}

// run makes a run that waits in a queue, and its Workload.
func (w *targetsTest) run(name, queue string, annotations map[string]string,
	edits ...func(*tektonv1.PipelineRun, *kueue.Workload)) {
	w.T.Helper()
	w.made++
	pr := queuetest.MakeRun(name, queuetest.InQueue(queue), queuetest.Requests(`{"nvidia.com/gpu":"4"}`),
		queuetest.Pending)
	pr.CreationTimestamp = metav1.NewTime(w.Clock.Now().Add(time.Duration(w.made-1000) * time.Second))
	for k, v := range annotations {
		pr.Annotations[contract.Prefix+k] = v
	}
	wl := queuetest.MakeWorkload(pr)
	wl.Spec.QueueName = kueue.LocalQueueName(queue)
	for _, edit := range edits {
		edit(pr, wl)
	}
	w.Create(pr, wl)
}

func reserveQuota(_ *tektonv1.PipelineRun, wl *kueue.Workload) { queuetest.WithQuota(wl) }

func (w *targetsTest) look() time.Duration {
	w.T.Helper()
	r, err := w.r.Reconcile(w.T.Context(), ctrl.Request{})
	if err != nil {
		w.T.Fatal(err)
	}
	return r.RequeueAfter
}

func (w *targetsTest) want(name, queue, why string) {
	w.T.Helper()
	pr := &tektonv1.PipelineRun{}
	if err := w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: "bench", Name: name}, pr); err != nil {
		w.T.Fatal(err)
	}
	if got := pr.Labels[contract.LabelQueue]; got != queue ||
		!strings.Contains(pr.Annotations[contract.AnnotationChosen], why) {
		w.T.Errorf("run %q is in queue %q: %q", name, got, pr.Annotations[contract.AnnotationChosen])
	}
}

func TestRunsSpreadOverTheTargetsThatTheyAllow(t *testing.T) {
	w := newTargetsTest(t)
	for _, name := range []string{"r1", "r2", "r3", "r4"} {
		w.run(name, contract.TargetAny, map[string]string{"target-selector": "region=eu"})
	}
	w.run("plain", "c", nil)
	w.look()
	count := map[string]int{}
	for _, name := range []string{"r1", "r2", "r3", "r4"} {
		pr := &tektonv1.PipelineRun{}
		if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: name}, pr); err != nil {
			t.Fatal(err)
		}
		count[pr.Labels[contract.LabelQueue]]++
	}
	if count["a"] != 2 || count["b"] != 2 {
		t.Errorf("they went to %v", count)
	}
	w.want("plain", "c", "")
}

func TestALongOutageSendsRunsElsewhere(t *testing.T) {
	w := newTargetsTest(t)
	w.run("r", "a", map[string]string{"targets": "a,c", "chosen": "a: x"})
	w.run("held", "a", map[string]string{"targets": "a,c", "chosen": "a: x"}, reserveQuota)
	w.look()
	w.want("r", "a", "")
	w.sights["a"].Answers = view.Reach{Since: w.Clock.Now(), Why: "no route"}
	if again := w.look(); again != OutageGrace {
		t.Errorf("looks again after %s", again)
	}
	w.want("r", "a", "")
	w.Clock.Step(OutageGrace)
	w.look()
	w.want("r", "c", `target "a" has not answered since`)
	w.want("held", "a", "")
}

func TestWhereTheCacheIsWarm(t *testing.T) {
	w := newTargetsTest(t)
	w.run("before", "b", map[string]string{"cache-key": "k",
		"admitted": w.Clock.Now().Add(-time.Hour).UTC().Format(time.RFC3339), "released": "x"},
		func(pr *tektonv1.PipelineRun, _ *kueue.Workload) {
			pr.Spec.Status = ""
		})
	w.run("r", "a", map[string]string{"targets": "a,b,c", "cache-key": "k"})
	w.run("other", "a", map[string]string{"targets": "a,b,c", "cache-key": "l"})
	w.look()
	w.want("r", "b", "weights and images")
	w.want("other", "a", "its devices are free")
}

func TestATargetThatCannotHoldIt(t *testing.T) {
	w := newTargetsTest(t)
	w.sights["a"].Nodes = []corev1.Node{queuetest.MakeNode("n", 2)}
	w.run("r", "a", map[string]string{"targets": "a,b", "chosen": "a: x"},
		func(_ *tektonv1.PipelineRun, wl *kueue.Workload) {
			no := false // it was set aside
			wl.Spec.Active = &no
		})
	queue := &kueue.ClusterQueue{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Name: "a"}, queue); err != nil {
		t.Fatal(err)
	}
	queue.Spec.ResourceGroups[0].Flavors[0].Resources[0].NominalQuota = resource.MustParse("2")
	if err := w.Client.Update(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	w.look()
	w.want("r", "b", `target "a" is too small`)
}

func TestAnIdleTargetTakesWhatWaitsElsewhere(t *testing.T) {
	w := newTargetsTest(t)
	w.run("old", "a", map[string]string{"admitted": "then"},
		func(pr *tektonv1.PipelineRun, _ *kueue.Workload) { pr.Spec.Status = "" }, reserveQuota)
	full := queuetest.MakePod("n", 8, map[string]string{contract.LabelRun: "old"})
	for _, s := range w.sights {
		s.Pods = []corev1.Pod{full}
	}
	w.run("first", "a", map[string]string{"targets": "a,b", "chosen": "a: x"})
	w.run("second", "a", map[string]string{"targets": "a,b", "chosen": "a: x"})
	w.look()
	w.want("first", "a", "")
	w.sights["b"].Pods = nil
	w.look()
	w.want("first", "b", "its devices are free")
	w.want("second", "a", "")
}

// TestRunsOfTwoTeamsWithOneNameHoldTheirOwnDevices: one has them, the other is still to take the rest of its target.
func TestRunsOfTwoTeamsWithOneNameHoldTheirOwnDevices(t *testing.T) {
	w := newTargetsTest(t)
	for _, namespace := range []string{"bench", "red"} {
		w.run("nightly", "a", map[string]string{"admitted": "then"}, func(pr *tektonv1.PipelineRun, wl *kueue.Workload) {
			pr.Namespace, wl.Namespace, pr.Spec.Status = namespace, namespace, ""
		}, reserveQuota)
	}
	w.sights["a"].Pods = []corev1.Pod{queuetest.MakePod("n", 4, map[string]string{contract.LabelRun: "nightly"})}
	w.run("third", contract.TargetAny, map[string]string{"targets": "a,c"})
	w.look()
	w.want("third", "c", "its devices are free")
}

func TestAQueueThatIsKeptInAnAnnotation(t *testing.T) {
	w := newTargetsTest(t)
	w.run("r", "any", map[string]string{"targets": "b", "queue": "any"},
		func(pr *tektonv1.PipelineRun, _ *kueue.Workload) { delete(pr.Labels, contract.LabelQueue) })
	w.look()
	pr := &tektonv1.PipelineRun{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: "r"}, pr); err != nil {
		t.Fatal(err)
	}
	if pr.Labels[contract.LabelQueue] != "" || pr.Annotations[contract.Prefix+"queue"] != "b" ||
		pr.Labels[contract.LabelTarget] != "b" {
		t.Errorf("labels %v, annotations %v", pr.Labels, pr.Annotations)
	}
}
