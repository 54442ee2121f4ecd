package queue_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"
)

func TestARunThatTheCheckSendsBackKeepsItsPlace(t *testing.T) {
	w := newWorld(t, 0)
	w.submit("a")
	w.Clock.Step(time.Second)
	w.submit("b")
	w.settle()
	for round := range 2 {
		w.Clock.Step(time.Minute)
		w.sendBack("a")
		if order := w.order(); order != "b a" {
			t.Fatalf("round %d: Kueue would take %s", round, order)
		}
		w.settle()
		if order := w.order(); order != "a b" {
			t.Errorf("round %d: Kueue takes %s, want a b", round, order)
		}
	}
}

// sendBack is what Kueue leaves of a run after its check said Retry.
func (w *world) sendBack(name string) {
	w.T.Helper()
	for _, wl := range w.Workloads() {
		if owner := metav1.GetControllerOf(&wl); owner.Name == name {
			apimeta.RemoveStatusCondition(&wl.Status.Conditions, kueue.WorkloadEvicted)
			wl.Status.Conditions = append(wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadEvicted, Status: "True",
				Reason: kueue.WorkloadEvictedByAdmissionCheck, Message: "no room",
				LastTransitionTime: metav1.NewTime(w.Clock.Now())})
			w.Must(w.Client.Status().Update(w.T.Context(), &wl))
		}
	}
}

// order is that in which Kueue looks at runs, by its own rule.
func (w *world) order() string {
	all := w.Workloads()
	rule := workload.Ordering{PodsReadyRequeuingTimestamp: config.EvictionTimestamp}
	slices.SortFunc(all, func(a, b kueue.Workload) int {
		return rule.GetQueueOrderTimestamp(&a).Compare(rule.GetQueueOrderTimestamp(&b).Time)
	})
	var names []string
	for _, wl := range all {
		names = append(names, metav1.GetControllerOf(&wl).Name)
	}
	return strings.Join(names, " ")
}
