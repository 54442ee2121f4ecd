package release

import (
	"testing"
	"time"

	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestARunIsReleasedSoonAfterItsLastPod: what made its pods goes after them, and no event tells of it.
func TestARunIsReleasedSoonAfterItsLastPod(t *testing.T) {
	of := metav1.ObjectMeta{Namespace: queuetest.Namespace, Name: "a-engine",
		Labels: map[string]string{contract.LabelRun: "a", contract.LabelRelease: "a"}}
	going := of
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: begin()}, []string{metav1.FinalizerDeleteDependents}
	for _, row := range []struct {
		name string
		left []client.Object
		want time.Duration
	}{
		{"a pod is left, whose end is an event", []client.Object{
			&appsv1.Deployment{ObjectMeta: going}, &corev1.Pod{ObjectMeta: of},
		}, recheckInterval},
		{"its Deployment is left", []client.Object{&appsv1.Deployment{ObjectMeta: going}}, collectionInterval},
		{"what was told to go just now", []client.Object{&corev1.Service{ObjectMeta: of}}, collectionInterval},
	} {
		t.Run(row.name, func(t *testing.T) {
			pr := endedOn("far", "a")
			c := hub(t, append(row.left, pr)...)
			r := NewReconciler(c, c, events.NewFakeRecorder(10), options(t, target.Target{Name: "far", Live: c}))
			got, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pr)})
			if err != nil || got.RequeueAfter != row.want {
				t.Errorf("it is looked at again after %s, %v, want %s", got.RequeueAfter, err, row.want)
			}
		})
	}
}
