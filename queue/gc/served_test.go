package gc_test

import (
	"strings"
	"testing"

	"bflow.dev/bflow/queue/gc"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/runplan/contract"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// TestATargetIsAskedAboutNamespacesThatItServes: a team that came after the target has no queue of it, and the hub no
// rights there.
func TestATargetIsAskedAboutNamespacesThatItServes(t *testing.T) {
	var all []client.Object
	for name, labels := range map[string]map[string]string{"bench": {contract.LabelEnabled: "true"},
		"late": {contract.LabelEnabled: "true"}, "shop": nil} {
		all = append(all, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	for _, in := range []string{"bench/local", "bench/worker", "late/local", "shop/worker"} {
		namespace, name, _ := strings.Cut(in, "/")
		all = append(all, &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	hub := gc.Hub{Cache: queuetest.Builder(t).WithObjects(all...).Build()}
	for target, want := range map[string][]string{"local": {"bench", "late"}, "worker": {"bench"}, "nowhere": {}} {
		got, err := hub.Served(t.Context(), target)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", target, err, diff)
		}
	}
}
