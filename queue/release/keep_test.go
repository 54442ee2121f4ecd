package release

import (
	"testing"
	"time"

	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"knative.dev/pkg/apis"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// server is the Deployment of a run's model server.
func server(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: queuetest.Namespace, Name: name + "-engine",
		Labels: map[string]string{contract.LabelRun: name, contract.LabelRelease: name}}}
}

// provisioned is task provision of a run.
func provisioned(pr *tektonv1.PipelineRun, ended corev1.ConditionStatus) *tektonv1.TaskRun {
	task := &tektonv1.TaskRun{ObjectMeta: metav1.ObjectMeta{Namespace: pr.Namespace, Name: pr.Name + "-provision",
		Labels: map[string]string{pipeline.PipelineRunLabelKey: pr.Name,
			pipeline.PipelineTaskLabelKey: contract.Provision},
		OwnerReferences: []metav1.OwnerReference{run.Owner(pr)}}}
	task.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: ended})
	return task
}

func TestAServerStaysAfterItsRunAsLongAsItShould(t *testing.T) {
	const wish = 4 * time.Hour
	set := func(key string, at time.Duration) func(*tektonv1.PipelineRun) {
		return queuetest.Annotated(key, begin().Add(at).Format(time.RFC3339))
	}
	for _, row := range []struct {
		name   string
		edit   func(*tektonv1.PipelineRun) // nil = as the plan has it
		server corev1.ConditionStatus      // "" = it came up
		most   time.Duration               // of the cluster; 0 = a day
		at     time.Duration               // since the end of the run
		stays  time.Duration               // from then on; 0 = it goes
	}{
		{name: "as long as the plan says", at: time.Hour, stays: wish - time.Hour},
		{name: "and then goes", at: wish},
		{name: "no longer than the cluster allows", most: time.Hour, at: time.Minute, stays: time.Hour - time.Minute},
		{name: "of a run that has failed too", edit: func(pr *tektonv1.PipelineRun) {
			pr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionFalse})
		}, stays: wish},
		{name: "not where it never came up", server: corev1.ConditionFalse},
		{name: "not of a run that removes it", edit: queuetest.Annotated(contract.AnnotationKeepServer, "")},
		{name: "not of a run that is deleted", edit: func(pr *tektonv1.PipelineRun) {
			pr.DeletionTimestamp = &metav1.Time{Time: begin().Add(time.Hour)}
		}, at: time.Hour},
		{name: "not of a run that is cancelled", edit: set(contract.AnnotationCancel, time.Hour), at: time.Hour},
		{name: "not of a run that was stopped", edit: func(pr *tektonv1.PipelineRun) {
			pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelledRunFinally
		}},
		{name: "not of a run that is tried again", edit: queuetest.Annotated(run.AnnotationStopped, run.CauseLost+": x")},
	} {
		t.Run(row.name, func(t *testing.T) {
			pr := endedOn("far", "a")
			queuetest.Annotated(contract.AnnotationKeepServer, wish.String())(pr)
			queuetest.Annotated(contract.AnnotationServerUntil, "as it was before")(pr)
			if row.edit != nil {
				row.edit(pr)
			}
			task := provisioned(pr, corev1.ConditionTrue)
			if row.server != "" {
				task = provisioned(pr, row.server)
			}
			deployment := server("a")
			c := hub(t, pr, task, deployment)
			o := options(t, target.Target{Name: "far", Live: c})
			o.Clock = clocktesting.NewFakeClock(begin().Add(row.at))
			if o.KeepServers = row.most; o.KeepServers == 0 {
				o.KeepServers = 24 * time.Hour
			}
			r := NewReconciler(c, c, events.NewFakeRecorder(10), o)
			got, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pr)})
			if err != nil {
				t.Fatal(err)
			}
			gone := apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment))
			if gone != (row.stays == 0) || row.stays > 0 && got.RequeueAfter != row.stays {
				t.Errorf("it is gone: %v, and it is looked at again after %s", gone, got.RequeueAfter)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(pr), pr); err != nil {
				t.Fatal(err)
			}
			until := begin().Add(row.at + row.stays).Format(time.RFC3339)
			want := "Ended; its model server stays until " + until
			switch state := run.State(pr); {
			case row.stays > 0 && (pr.Annotations[contract.AnnotationReason] != want || run.Freed(pr) || state != "staying"):
				t.Errorf("it is %s, and its annotations are %v, want %q", state, pr.Annotations, want)
			case row.stays == 0 && state != "releasing":
				t.Errorf("it is %s", state)
			}
			if run.Released(pr) { // something of it was there when it was looked at
				t.Error("it is released")
			}
		})
	}
}

// TestAServerThatHasStayedIsNotReleasedByForce: the time until then begins when it should go.
func TestAServerThatHasStayedIsNotReleasedByForce(t *testing.T) {
	pr := endedOn("far", "a")
	queuetest.Annotated(contract.AnnotationKeepServer, "4h")(pr)
	pr.DeletionTimestamp = &metav1.Time{Time: begin().Add(2 * time.Hour)}
	stuck := server("a")
	stuck.Finalizers = []string{"example.com/stuck"}
	c := hub(t, pr, provisioned(pr, corev1.ConditionTrue), stuck)
	o := options(t, target.Target{Name: "far", Live: c})
	clock := clocktesting.NewFakeClock(begin())
	o.Clock, o.KeepServers = clock, 24*time.Hour
	r := NewReconciler(c, c, events.NewFakeRecorder(10), o)
	for _, row := range []struct {
		at     time.Duration // since the deletion
		forced bool
	}{{0, false}, {ForceAfter - time.Second, false}, {ForceAfter, true}} {
		clock.SetTime(begin().Add(2*time.Hour + row.at))
		_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pr)})
		gone := apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(pr), pr))
		if err != nil || gone != row.forced {
			t.Errorf("%s after its deletion the run is gone: %v, %v", row.at, gone, err)
		}
	}
}
