package waiting

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/runplan/contract"

	"github.com/prometheus/client_golang/prometheus/testutil"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// queueOf is a queue of n runs in memory; run i was made in second i.
func queueOf(t testing.TB, n int) (client.Client, *Reconciler, *events.FakeRecorder) {
	t.Helper()
	objects := []client.Object{queuetest.MakeQueue("local", "local")}
	waits := condition(kueue.WorkloadQuotaReserved, "False", kueue.WorkloadQuotaReservedReasonWaitingForQuota,
		"insufficient unused quota")
	for i := range n {
		name := fmt.Sprintf("run-%04d", i)
		pr := queuetest.MakeRun(name, queuetest.Pending)
		wl := makeWorkload(name, int64(i), waits)
		wl.OwnerReferences = queuetest.MakeWorkload(pr).OwnerReferences
		objects = append(objects, &wl, pr)
	}
	m := queuetest.Metrics(t)
	c, recorder := queuetest.Builder(t).WithObjects(objects...).Build(), events.NewFakeRecorder(3*n+10)
	return c, NewReconciler(c, recorder, m), recorder
}

func reasonOf(t testing.TB, c client.Client, i int) string {
	t.Helper()
	pr := &tektonv1.PipelineRun{}
	if err := c.Get(context.Background(), types.NamespacedName{Namespace: "bench", Name: fmt.Sprintf("run-%04d", i)},
		pr); err != nil {
		t.Fatal(err)
	}
	return pr.Annotations[contract.AnnotationReason]
}

func look(t testing.TB, r *Reconciler) {
	t.Helper()
	if _, err := r.Reconcile(context.Background(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
}

func TestEveryQueuedRunSaysWhyItWaits(t *testing.T) {
	c, r, recorder := queueOf(t, 30)
	look(t, r)
	for i, want := range map[int]string{
		0: `Next in queue "local", waits for 4 nvidia.com/gpu`, 4: `Place 5 in queue "local", waits for 4 nvidia.com/gpu`,
		29: `At least 20 before it in queue "local", waits for 4 nvidia.com/gpu`,
	} {
		if got := reasonOf(t, c, i); got != want {
			t.Errorf("run %d: got %q, want %q", i, got, want)
		}
	}
	if n := len(recorder.Events); n != 30 {
		t.Errorf("%d events, want one for each", n)
	}
	before := testutil.ToFloat64(r.metrics.ReasonWrites)
	look(t, r)
	if after := testutil.ToFloat64(r.metrics.ReasonWrites); after != before {
		t.Errorf("%v writes though nothing changed", after-before)
	}
	wl := &kueue.Workload{}
	key := types.NamespacedName{Namespace: "bench", Name: "run-0000"}
	if err := c.Get(t.Context(), key, wl); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), wl); err != nil {
		t.Fatal(err)
	}
	look(t, r)
	if got := reasonOf(t, c, 1); !strings.HasPrefix(got, "Next") {
		t.Errorf("the second is next now, it says %q", got)
	}
	// Nine places near the front and the two that came nearer than a bound.
	if moved := testutil.ToFloat64(r.metrics.ReasonWrites) - before; moved > 12 {
		t.Errorf("%v writes for one run that left", moved)
	}
	if n := len(recorder.Events); n != 31 {
		t.Errorf("%d events: only the next one has news of another kind", n)
	}
}

// TestAReservationOnItsWayIsNotTold: most pass their checks at once.
func TestAReservationOnItsWayIsNotTold(t *testing.T) {
	c, r, _ := queueOf(t, 1)
	look(t, r)
	for _, row := range []struct {
		since time.Duration
		want  string
	}{
		{0, "Next in queue"},
		{reservationReportDelay, "Its quota is reserved; bflow-local: no answer yet"},
	} {
		wl := &kueue.Workload{}
		if err := c.Get(t.Context(), types.NamespacedName{Namespace: "bench", Name: "run-0000"}, wl); err != nil {
			t.Fatal(err)
		}
		wl.Status.Conditions = nil
		condition(kueue.WorkloadQuotaReserved, "True", "QuotaReserved", "")(wl)
		wl.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Now().Add(-row.since))
		wl.Status.AdmissionChecks = []kueue.AdmissionCheckState{{Name: "bflow-local", State: kueue.CheckStatePending}}
		if err := c.Update(t.Context(), wl); err != nil {
			t.Fatal(err)
		}
		look(t, r)
		if got := reasonOf(t, c, 0); !strings.HasPrefix(got, row.want) {
			t.Errorf("%s after the reservation it says %q, want %q", row.since, got, row.want)
		}
	}
}

// BenchmarkLook measures one look at 2,000 queued runs when nothing has changed.
func BenchmarkLook(b *testing.B) {
	_, r, _ := queueOf(b, 2000)
	look(b, r)
	for b.Loop() {
		look(b, r)
	}
}
