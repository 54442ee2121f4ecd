package placement

import (
	"context"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
)

// oneNode is a target of one node in memory.
type oneNode struct {
	gpus  int64
	pods  []corev1.Pod
	reach view.Reach
}

func (s *oneNode) Ready() bool       { return true }
func (s *oneNode) Reach() view.Reach { return s.reach }
func (s *oneNode) Inventory(_ context.Context, owner devices.Owner) (*devices.Inventory, error) {
	inv := devices.Of([]corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{
		Allocatable: corev1.ResourceList{gpu: *resource.NewQuantity(s.gpus, resource.DecimalSI)},
		Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}}, nil)
	inv.Hold(s.pods, nil, owner)
	return inv, nil
}

type targetsTest struct {
	t      *testing.T
	client client.Client
	clock  *clocktesting.FakeClock
	sights map[string]*oneNode
	r      *TargetReconciler
	made   int
}

func newTargetsTest(t *testing.T) *targetsTest {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kueue.AddToScheme, tektonv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &targetsTest{t: t, client: fake.NewClientBuilder().WithScheme(scheme).WithIndex(&tektonv1.PipelineRun{}, run.Index, run.IndexOf).WithIndex(&tektonv1.PipelineRun{}, run.IndexID, run.IDOf).Build(), clock: clocktesting.NewFakeClock(time.Unix(10000, 0)), sights: map[string]*oneNode{}}
	targets := target.NewRegistry(target.Local(nil, &oneNode{gpus: 100}))
	for name, region := range map[string]string{"a": "eu", "b": "eu", "c": "us"} {
		w.sights[name] = &oneNode{gpus: 8, reach: view.Reach{Up: true, Since: w.clock.Now().Add(-time.Hour)}}
		targets.Put(target.Target{Name: name, Sight: w.sights[name]})
		w.create(&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"region": region}}})
		w.create(&kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kueue.ClusterQueueSpec{ResourceGroups: []kueue.ResourceGroup{{
			Flavors: []kueue.FlavorQuotas{{Name: kueue.ResourceFlavorReference(name), Resources: []kueue.ResourceQuota{{Name: gpu, NominalQuota: resource.MustParse("8")}}}}}}}})
		w.create(&kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "bench"}, Spec: kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(name)}})
	}
	w.r = NewTargetReconciler(w.client, &utiltesting.EventRecorder{}, targets, "hub", w.clock)
	return w
}

func (w *targetsTest) create(o client.Object) {
	w.t.Helper()
	if err := w.client.Create(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// run makes a run that waits in a queue, and its Workload.
func (w *targetsTest) run(name, queue string, annotations map[string]string, edits ...func(*tektonv1.PipelineRun, *kueue.Workload)) {
	w.t.Helper()
	w.made++
	yes, at := true, metav1.NewTime(w.clock.Now().Add(time.Duration(w.made-1000)*time.Second))
	pr := &tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "bench", UID: types.UID(name), CreationTimestamp: at,
		Labels:      map[string]string{contract.LabelPlanHash: "h", contract.LabelQueue: queue, contract.LabelTarget: queue},
		Annotations: map[string]string{contract.AnnotationRequests: `{"nvidia.com/gpu":"4"}`}}}
	for k, v := range annotations {
		pr.Annotations[contract.Prefix+k] = v
	}
	pr.Spec.Status = tektonv1.PipelineRunSpecStatusPending
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: "w-" + name, Namespace: "bench", UID: types.UID("w-" + name), CreationTimestamp: at,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Name: name, UID: types.UID(name), Controller: &yes}},
	}, Spec: kueue.WorkloadSpec{QueueName: kueue.LocalQueueName(queue)}}
	for _, edit := range edits {
		edit(pr, wl)
	}
	w.create(pr)
	w.create(wl)
}

func reserveQuota(_ *tektonv1.PipelineRun, wl *kueue.Workload) {
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue, Reason: "x"})
}

func (w *targetsTest) look() time.Duration {
	w.t.Helper()
	r, err := w.r.Reconcile(w.t.Context(), ctrl.Request{})
	if err != nil {
		w.t.Fatal(err)
	}
	return r.RequeueAfter
}

func (w *targetsTest) want(name, queue, why string) {
	w.t.Helper()
	pr := &tektonv1.PipelineRun{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "bench", Name: name}, pr); err != nil {
		w.t.Fatal(err)
	}
	if got := pr.Labels[contract.LabelQueue]; got != queue || !strings.Contains(pr.Annotations[contract.AnnotationChosen], why) {
		w.t.Errorf("run %q is in queue %q: %q", name, got, pr.Annotations[contract.AnnotationChosen])
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
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: name}, pr); err != nil {
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
	w.sights["a"].reach = view.Reach{Since: w.clock.Now(), Why: "no route"}
	if again := w.look(); again != OutageGrace {
		t.Errorf("looks again after %s", again)
	}
	w.want("r", "a", "")
	w.clock.Step(OutageGrace)
	w.look()
	w.want("r", "c", `target "a" has not answered since`)
	w.want("held", "a", "")
}

func TestWhereTheCacheIsWarm(t *testing.T) {
	w := newTargetsTest(t)
	w.run("before", "b", map[string]string{"cache-key": "k", "admitted": w.clock.Now().Add(-time.Hour).UTC().Format(time.RFC3339), "released": "x"}, func(pr *tektonv1.PipelineRun, _ *kueue.Workload) {
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
	w.sights["a"].gpus = 2
	w.run("r", "a", map[string]string{"targets": "a,b", "chosen": "a: x"}, func(_ *tektonv1.PipelineRun, wl *kueue.Workload) {
		no := false // it was set aside
		wl.Spec.Active = &no
	})
	queue := &kueue.ClusterQueue{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Name: "a"}, queue); err != nil {
		t.Fatal(err)
	}
	queue.Spec.ResourceGroups[0].Flavors[0].Resources[0].NominalQuota = resource.MustParse("2")
	if err := w.client.Update(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	w.look()
	w.want("r", "b", `target "a" is too small`)
}

func TestAnIdleTargetTakesWhatWaitsElsewhere(t *testing.T) {
	w := newTargetsTest(t)
	w.run("old", "a", map[string]string{"admitted": "then"}, func(pr *tektonv1.PipelineRun, _ *kueue.Workload) { pr.Spec.Status = "" }, reserveQuota)
	full := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Labels: map[string]string{contract.LabelRun: "old"}}, Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{gpu: resource.MustParse("8")}}}}}}
	for _, s := range w.sights {
		s.pods = []corev1.Pod{full}
	}
	w.run("first", "a", map[string]string{"targets": "a,b", "chosen": "a: x"})
	w.run("second", "a", map[string]string{"targets": "a,b", "chosen": "a: x"})
	w.look()
	w.want("first", "a", "")
	w.sights["b"].pods = nil
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
	w.sights["a"].pods = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Labels: map[string]string{contract.LabelRun: "nightly"}}, Spec: corev1.PodSpec{
		NodeName: "n", Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{gpu: resource.MustParse("4")}}}}}}}
	w.run("third", contract.TargetAny, map[string]string{"targets": "a,c"})
	w.look()
	w.want("third", "c", "its devices are free")
}

func TestAQueueThatIsKeptInAnAnnotation(t *testing.T) {
	w := newTargetsTest(t)
	w.run("r", "any", map[string]string{"targets": "b", "queue": "any"}, func(pr *tektonv1.PipelineRun, _ *kueue.Workload) { delete(pr.Labels, contract.LabelQueue) })
	w.look()
	pr := &tektonv1.PipelineRun{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: "r"}, pr); err != nil {
		t.Fatal(err)
	}
	if pr.Labels[contract.LabelQueue] != "" || pr.Annotations[contract.Prefix+"queue"] != "b" || pr.Labels[contract.LabelTarget] != "b" {
		t.Errorf("labels %v, annotations %v", pr.Labels, pr.Annotations)
	}
}
