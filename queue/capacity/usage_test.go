package capacity

import (
	"context"
	"testing"
	"time"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/runplan/contract"

	"github.com/prometheus/client_golang/prometheus/testutil"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// held is a run that was let start.
func held(more ...func(*tektonv1.PipelineRun)) *tektonv1.PipelineRun {
	pr := queuetest.MakeRun("r", queuetest.OnTarget("lab"),
		queuetest.Annotated(contract.AnnotationAdmitted, "2026-01-01T00:00:00Z"),
		queuetest.Requests(`{"nvidia.com/gpu":"4","bflow.dev/cluster-slot":"1","bflow.dev/gpu-h200":"4"}`))
	for _, m := range more {
		m(pr)
	}
	return pr
}

func child(name string) func(*tektonv1.PipelineRun) {
	return func(pr *tektonv1.PipelineRun) {
		pr.Status.ChildReferences = append(pr.Status.ChildReferences,
			tektonv1.ChildStatusReference{Name: "r-" + name, PipelineTaskName: name})
	}
}

func annotated(key string) func(*tektonv1.PipelineRun) {
	return func(pr *tektonv1.PipelineRun) { pr.Annotations[key] = "2026-01-01T01:00:00Z" }
}

func done(pr *tektonv1.PipelineRun) {
	pr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: "True"})
}

// load is TaskRun r-load-gen-0.
func load(ended bool) *tektonv1.TaskRun {
	began := metav1.Now()
	tr := &tektonv1.TaskRun{ObjectMeta: metav1.ObjectMeta{Name: "r-load-gen-0", Namespace: queuetest.Namespace}}
	tr.Status.StartTime = &began
	if ended {
		tr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: "True"})
	}
	return tr
}

func TestWhatARunHasItsDevicesFor(t *testing.T) {
	for _, row := range []struct {
		name string
		run  *tektonv1.PipelineRun
		load *tektonv1.TaskRun
		want string
	}{
		{name: "a run that waits has none", run: held(func(pr *tektonv1.PipelineRun) {
			delete(pr.Annotations,
				contract.AnnotationAdmitted)
		})},
		{name: "a run that was let start provisions", run: held(), want: metrics.HoursProvisioning},
		{name: "a smoke test is part of provisioning", run: held(child("provision"), child("smoketest")),
			want: metrics.HoursProvisioning},
		{name: "a load that runs is measured", run: held(child("load-gen-0")), load: load(false),
			want: metrics.HoursMeasuring},
		{name: "a load that has no pod yet measures nothing", run: held(child("load-gen-0")), want: metrics.HoursIdle},
		{name: "after the load its engine idles", run: held(child("load-gen-0")), load: load(true), want: metrics.HoursIdle},
		{name: "a run that failed before its load idles until its release", run: held(done), want: metrics.HoursIdle},
		{name: "a run that gave its devices back has none",
			run: held(child("load-gen-0"), annotated(contract.AnnotationFreed)), load: load(true)},
		{name: "a released run has none", run: held(done, annotated(contract.AnnotationReleased))},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := UseOf(row.run, func(string) *tektonv1.TaskRun { return row.load })
			if got != row.want {
				t.Errorf("it is %q, want %q", got, row.want)
			}
		})
	}
}

func TestTimeIsAddedUpByWhatIsTrue(t *testing.T) {
	c := queuetest.Builder(t).WithObjects(held(child("load-gen-0")), load(false)).Build()
	clk, m := clocktesting.NewFakeClock(time.Unix(1000, 0)), queuetest.Metrics(t)
	leaked := map[string]devices.Amounts{"lab": {"nvidia.com/gpu": 1, "bflow.dev/gpu-h200": 1}}
	a := &Accountant{cache: c, last: clk.Now(), o: UsageOptions{Metrics: m, Clock: clk,
		Leaked: func(context.Context) map[string]devices.Amounts { return leaked }}}
	spent := func(d time.Duration) {
		t.Helper()
		clk.Step(d)
		if err := a.add(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	spent(10 * time.Second)
	leaked = nil
	tr := &tektonv1.TaskRun{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: queuetest.Namespace, Name: "r-load-gen-0"}, tr); err != nil {
		t.Fatal(err)
	}
	tr.Status = load(true).Status
	if err := c.Update(t.Context(), tr); err != nil {
		t.Fatal(err)
	}
	spent(5 * time.Second)
	for state, want := range map[string]float64{
		metrics.HoursProvisioning: 0, metrics.HoursMeasuring: 40, metrics.HoursIdle: 20, metrics.HoursLeaked: 10,
	} {
		if got := testutil.ToFloat64(m.GPUSeconds.WithLabelValues("lab", "nvidia.com/gpu", state)); got != want {
			t.Errorf("%s: %v GPU seconds, want %v", state, got, want)
		}
	}
	if n := testutil.CollectAndCount(m.GPUSeconds); n != 4 {
		t.Errorf("%d series, want one of each state and none of slots or products", n)
	}
}
