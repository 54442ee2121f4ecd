package capacity

import (
	"testing"
	"time"

	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

func TestWhatIsSeenIsWritten(t *testing.T) {
	c := queuetest.Builder(t).Build()
	since := time.Unix(1000, 0).UTC()
	sight := &queuetest.Sight{Answers: view.Reach{Since: since, Why: "refused"}, Unready: true, Kubernetes: "v1.34.4"}
	targets, clk := target.NewRegistry(target.Target{Name: "far", Sight: sight}),
		clocktesting.NewFakePassiveClock(since.Add(time.Hour))
	r := NewStatusReconciler(c, targets, "hub", clk)
	version := ""
	step := func(name string, changes bool, want target.Status) {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "far"}}); err != nil {
			t.Fatal(err)
		}
		cm := &corev1.ConfigMap{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: contract.NamespaceSystem,
			Name: contract.TargetCredentials("far")}, cm); err != nil {
			t.Fatal(err)
		}
		got, err := target.ReadStatus(cm.Data)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		if changes != (cm.ResourceVersion != version) {
			t.Errorf("%s: written: %v", name, !changes)
		}
		version = cm.ResourceVersion
	}
	step("a target that is away", true, target.Status{Since: since, Why: "refused", Version: "v1.34.4"})
	step("nothing has changed", false, target.Status{Since: since, Why: "refused", Version: "v1.34.4"})
	sight.Answers, sight.Unready = view.Reach{Up: true, Since: since}, false
	sight.Nodes, sight.Pods = []corev1.Node{queuetest.MakeNode("a", 8, queuetest.H100)},
		[]corev1.Pod{queuetest.MakePod("a", 3, nil)}
	step("one that is in sight", true, target.Status{Up: true, Since: since, Version: "v1.34.4", Complete: true, Nodes: 1,
		Devices: map[string]target.DeviceCount{gpu: {Total: 8, Free: 5, Foreign: 3, Product: "bflow.dev/gpu-h100"}}})
	targets.Drop("far")
	gone := target.Status{Since: clk.Now().UTC(),
		Why: "Secret bflow-target-far in bflow-system is missing or cannot be read; bflow target add with the same name " +
			"recreates it"}
	step("one whose Secret is gone", true, gone)
	clk.SetTime(clk.Now().Add(time.Hour))
	step("it is gone for longer", false, gone)
	r = NewStatusReconciler(c, targets, "hub", clk) // it has written nothing yet, and nobody tells it of this target
	gone.Since = clk.Now().UTC()
	step("it was gone when the controller started", true, gone)
	targets.Put(target.Target{Name: "far", Sight: &queuetest.Sight{Answers: view.Reach{Up: true, Since: since},
		Unready: true, Kubernetes: "v1.34.4"}})
	step("its Secret is back", true, target.Status{Up: true, Since: since, Version: "v1.34.4"})
	if err := c.Delete(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: contract.NamespaceSystem,
			Name: contract.TargetCredentials("far")}}); err != nil {
		t.Fatal(err)
	}
	targets.Drop("far")
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "far"}}); err != nil {
		t.Errorf("a target that somebody removes: %v", err)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: contract.NamespaceSystem,
		Name: contract.TargetCredentials("far")}, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("something is written of a target that is removed: %v", err)
	}
}

func TestEveryTargetIsLookedAtFromTheStart(t *testing.T) {
	flavor := &kueue.ResourceFlavor{Spec: kueue.ResourceFlavorSpec{
		NodeLabels: map[string]string{contract.LabelTarget: "far"}}}
	if got := ofFlavor(t.Context(), flavor); len(got) != 1 || got[0].Name != "far" {
		t.Errorf("of a target: %v", got)
	}
	if got := ofFlavor(t.Context(), &kueue.ResourceFlavor{}); len(got) > 0 {
		t.Errorf("of somebody else's flavor: %v", got)
	}
}
