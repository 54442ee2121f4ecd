package placement

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"knative.dev/pkg/apis"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const noNode = `pod status "PodScheduled":"False"; message: "0/2 nodes are available: 2 node(s) didn't match ` +
	`Pod's node affinity/selector. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."`

func makeTask(task string, status corev1.ConditionStatus, reason, message string) *tektonv1.TaskRun {
	tr := &tektonv1.TaskRun{ObjectMeta: metav1.ObjectMeta{Name: "r-" + task, Namespace: "bench",
		CreationTimestamp: metav1.NewTime(time.Unix(1000, 0)),
		Labels: map[string]string{contract.LabelPlanHash: "h", pipeline.PipelineRunLabelKey: "r",
			pipeline.PipelineTaskLabelKey: task}}}
	tr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: status, Reason: reason,
		Message: message})
	return tr
}

func TestWhatATaskWaitsForInVain(t *testing.T) {
	const waits = corev1.ConditionUnknown
	for _, row := range []struct {
		name string
		task *tektonv1.TaskRun
		want string
	}{
		{"too little CPU or memory, which Tekton names in its own word",
			makeTask("x", waits, "ExceededNodeResources", "TaskRun Pod exceeded available resources"),
			"no node has enough CPU or memory left for its pod"},
		{"no node that it may be on, in the words of the scheduler", makeTask("x", waits, "Pending", noNode),
			"its pod fits on no node: 0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector"},
		{"a quota of the namespace", makeTask("x", waits, "ExceededResourceQuota",
			`TaskRun Pod exceeded available resources: pods "p" is forbidden: exceeded quota: q`),
			`the quota of the namespace has no room for its pod: TaskRun Pod exceeded available resources: pods "p" is ` +
				`forbidden: exceeded quota: q`},
		{"a pod that is being made waits for nothing", makeTask("x", waits, "Pending",
			`pod status "Initialized":"False"; message: "containers with incomplete status: [prepare]"`), ""},
		{"a task that runs does not wait", makeTask("x", waits, "Running",
			"Not all Steps in the Task have finished executing"), ""},
		{"a task that has ended does not wait", makeTask("x", corev1.ConditionFalse, "TaskRunTimeout", noNode), ""},
	} {
		if got := unschedulable(row.task); got != row.want {
			t.Errorf("%s:\ngot  %q\nwant %q", row.name, got, row.want)
		}
	}
}

func TestARunWhoseTaskFindsNoPlaceEnds(t *testing.T) {
	for _, row := range []struct {
		name, task string
		edit       func(*tektonv1.PipelineRun)
		run        tektonv1.PipelineRunSpecStatus
		ended      bool // the task
	}{
		{name: "a load generator: the run comes to its last task", task: "load-gen-0",
			run: tektonv1.PipelineRunSpecStatusCancelledRunFinally},
		{name: "a release: the last task tears down too", task: contract.Release,
			run: tektonv1.PipelineRunSpecStatusCancelledRunFinally},
		{name: "the last task itself is given up", task: contract.Finish, ended: true},
		{name: "the last task of a run that was told to end is given up", task: contract.Finish, ended: true,
			run:  tektonv1.PipelineRunSpecStatusCancelledRunFinally,
			edit: func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelledRunFinally }},
		{name: "a run that is over is left as it is", task: "load-gen-0", edit: func(pr *tektonv1.PipelineRun) {
			pr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionFalse,
				Reason: "Failed"})
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			pr := queuetest.MakeRun("r")
			if row.edit != nil {
				row.edit(pr)
			}
			c := queuetest.Builder(t).WithObjects(pr, makeTask(row.task, corev1.ConditionUnknown, "Pending", noNode)).Build()
			clock := clocktesting.NewFakeClock(time.Unix(1000, 0).Add(UnschedulableLimit - time.Second))
			r := NewTaskReconciler(c, events.NewFakeRecorder(5), clock, slog.New(slog.DiscardHandler))
			req := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "bench", Name: "r-" + row.task}}
			before := pr.Spec.Status
			result, err := r.Reconcile(t.Context(), req)
			checkEnd(t, c, row.task, before, false)
			if err != nil || result.RequeueAfter != time.Second {
				t.Errorf("a second too early: %v, %v", result, err)
			}
			clock.Step(time.Second)
			for range 2 { // the second time changes nothing
				if _, err := r.Reconcile(t.Context(), req); err != nil {
					t.Fatal(err)
				}
			}
			said := checkEnd(t, c, row.task, row.run, row.ended)
			if row.run != before && !strings.HasPrefix(said, run.CauseUnschedulable+`: task "`+row.task+
				`" had no place for 5m0s: its pod fits on no node`) {
				t.Errorf("it says %q", said)
			}
		})
	}
}

// TestATaskThatIsTriedAgainWaitsForAPlaceSinceThen: its first try found one, and failed 40 minutes later.
func TestATaskThatIsTriedAgainWaitsForAPlaceSinceThen(t *testing.T) {
	const again = 40 * time.Minute
	made := time.Unix(1000, 0)
	pod := func(at time.Time) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "r-load-gen-0-pod-retry1", Namespace: "bench",
			CreationTimestamp: metav1.NewTime(at)}}
	}
	for _, row := range []struct {
		name string
		pod  *corev1.Pod // nil for none
		task func(*tektonv1.TaskRun)
	}{
		{"its pod is the one of the second try", pod(made.Add(again)), nil},
		{"its pod was lost and made anew, and the task is in its first try", pod(made.Add(again)),
			func(task *tektonv1.TaskRun) { task.Status.StartTime = &metav1.Time{Time: made} }},
		{"no pod of the second try may be made", nil, func(task *tektonv1.TaskRun) {
			task.Status.PodName = ""
			task.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionUnknown,
				Reason: reasonQuota})
		}},
		{"its pod has not been seen yet", nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			task := makeTask("load-gen-0", corev1.ConditionUnknown, "Pending", noNode)
			task.Status.PodName, task.Status.StartTime = "r-load-gen-0-pod-retry1", &metav1.Time{Time: made.Add(again)}
			if row.task != nil {
				row.task(task)
			}
			pr := queuetest.MakeRun("r")
			objects := []client.Object{pr, task}
			if row.pod != nil {
				objects = append(objects, row.pod)
			}
			c := queuetest.Builder(t).WithObjects(objects...).Build()
			clock := clocktesting.NewFakeClock(made.Add(again + UnschedulableLimit - time.Second))
			r := NewTaskReconciler(c, events.NewFakeRecorder(5), clock, slog.New(slog.DiscardHandler))
			req := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(task)}
			result, err := r.Reconcile(t.Context(), req)
			checkEnd(t, c, "load-gen-0", "", false)
			if err != nil || result.RequeueAfter != time.Second {
				t.Errorf("a second too early: %v, %v", result, err)
			}
			clock.Step(time.Second)
			if _, err := r.Reconcile(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			checkEnd(t, c, "load-gen-0", tektonv1.PipelineRunSpecStatusCancelledRunFinally, false)
		})
	}
}

// checkEnd compares the states of the run and of its task, and returns why the run was stopped.
func checkEnd(t *testing.T, c client.Client, task string, want tektonv1.PipelineRunSpecStatus, ended bool) string {
	t.Helper()
	pr, tr := &tektonv1.PipelineRun{}, &tektonv1.TaskRun{}
	for name, o := range map[string]client.Object{"r": pr, "r-" + task: tr} {
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: name}, o); err != nil {
			t.Fatal(err)
		}
	}
	if pr.Spec.Status != want || tr.IsCancelled() != ended {
		t.Errorf("the run is %q, want %q; its task is ended: %v, want %v", pr.Spec.Status, want, tr.IsCancelled(), ended)
	}
	return pr.Annotations[run.AnnotationStopped]
}
