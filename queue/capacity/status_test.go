package capacity

import (
	"context"
	"testing"
	"time"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	"github.com/google/go-cmp/cmp"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

type statusSight struct {
	reach view.Reach
	nodes []corev1.Node
	pods  []corev1.Pod
}

func (s *statusSight) Ready() bool       { return len(s.nodes) > 0 }
func (s *statusSight) Reach() view.Reach { return s.reach }
func (s *statusSight) Version() string   { return "v1.34.4" }
func (s *statusSight) Inventory(_ context.Context, owner devices.Owner) (*devices.Inventory, error) {
	inv := devices.Of(s.nodes, nil)
	inv.Hold(s.pods, nil, owner)
	return inv, nil
}

func TestWhatIsSeenIsWritten(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, tektonv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithIndex(&tektonv1.PipelineRun{}, run.Index, run.IndexOf).WithIndex(&tektonv1.PipelineRun{}, run.IndexID, run.IDOf).Build()
	since := time.Unix(1000, 0).UTC()
	sight := &statusSight{reach: view.Reach{Since: since, Why: "refused"}}
	targets, clk := target.NewRegistry(target.Target{Name: "far", Sight: sight}), clocktesting.NewFakePassiveClock(since.Add(time.Hour))
	r := NewStatusReconciler(c, targets, "hub", clk)
	version := ""
	step := func(name string, changes bool, want target.Status) {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "far"}}); err != nil {
			t.Fatal(err)
		}
		cm := &corev1.ConfigMap{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: contract.NamespaceSystem, Name: contract.TargetCredentials("far")}, cm); err != nil {
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
	sight.reach = view.Reach{Up: true, Since: since}
	sight.nodes = []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{gpu + ".product": "NVIDIA-H100"}}, Status: corev1.NodeStatus{
		Allocatable: corev1.ResourceList{gpu: resource.MustParse("8")}, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}}
	sight.pods = []corev1.Pod{{Spec: corev1.PodSpec{NodeName: "a", Containers: []corev1.Container{{
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{gpu: resource.MustParse("3")}}}}}}}
	step("one that is in sight", true, target.Status{Up: true, Since: since, Version: "v1.34.4", Complete: true, Nodes: 1,
		Devices: map[string]target.DeviceCount{gpu: {Total: 8, Free: 5, Foreign: 3, Product: "bflow.dev/gpu-h100"}}})
	targets.Drop("far")
	gone := target.Status{Since: clk.Now().UTC(), Why: "Secret bflow-target-far in bflow-system is missing or cannot be read; bflow target add with the same name makes it anew"}
	step("one whose Secret is gone", true, gone)
	clk.SetTime(clk.Now().Add(time.Hour))
	step("it is gone for longer", false, gone)
	r = NewStatusReconciler(c, targets, "hub", clk) // it has written nothing yet, and nobody tells it of this target
	gone.Since = clk.Now().UTC()
	step("it was gone when the controller started", true, gone)
	targets.Put(target.Target{Name: "far", Sight: &statusSight{reach: view.Reach{Up: true, Since: since}}})
	step("its Secret is back", true, target.Status{Up: true, Since: since, Version: "v1.34.4"})
	if err := c.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: contract.NamespaceSystem, Name: contract.TargetCredentials("far")}}); err != nil {
		t.Fatal(err)
	}
	targets.Drop("far")
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "far"}}); err != nil {
		t.Errorf("a target that somebody removes: %v", err)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: contract.NamespaceSystem, Name: contract.TargetCredentials("far")}, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("something is written of a target that is removed: %v", err)
	}
}

func TestEveryTargetIsLookedAtFromTheStart(t *testing.T) {
	flavor := &kueue.ResourceFlavor{Spec: kueue.ResourceFlavorSpec{NodeLabels: map[string]string{contract.LabelTarget: "far"}}}
	if got := ofFlavor(t.Context(), flavor); len(got) != 1 || got[0].Name != "far" {
		t.Errorf("of a target: %v", got)
	}
	if got := ofFlavor(t.Context(), &kueue.ResourceFlavor{}); len(got) > 0 {
		t.Errorf("of somebody else's flavor: %v", got)
	}
}
