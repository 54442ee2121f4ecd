package queue_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// enter looks at one run, as the intake does.
func (w *world) enter(name string) error {
	_, err := w.admission.Enter(w.T.Context(), ctrl.Request{
		NamespacedName: types.NamespacedName{Namespace: ns, Name: name}})
	return err
}

// inQueue are the runs that have Workloads, in the order of their names.
func (w *world) inQueue() string {
	var names []string
	for _, wl := range w.Workloads() {
		names = append(names, metav1.GetControllerOf(&wl).Name)
	}
	return strings.Join(names, " ")
}

// lineOf makes a world in which runs wait that were made one after the other.
func lineOf(t *testing.T, names ...string) *world {
	t.Helper()
	w := newWorld(t, 0)
	for _, name := range names {
		w.submit(name)
		w.Clock.Step(time.Second)
	}
	return w
}

func TestARunWhoseWorkloadCannotBeMadeNowKeepsItsPlace(t *testing.T) {
	w := lineOf(t, "a", "b")
	away := true
	w.with(failing(w.Client, func(call string) error {
		if away && strings.HasPrefix(call, "create Workload") {
			return apierrors.NewInternalError(errors.New("failed calling webhook"))
		}
		return nil
	}))
	if w.enter("a") == nil {
		t.Fatal("its Workload could be made")
	}
	away = false
	for range 3 {
		w.Clock.Step(time.Second)
		w.Must(w.enter("b"))
	}
	if got := w.inQueue(); got != "" {
		t.Errorf("%s entered", got)
	}
	w.Must(w.enter("a"))
	w.Must(w.enter("b"))
	if got := w.inQueue(); got != "a" {
		t.Errorf("%s entered within a second", got)
	}
	w.Clock.Step(time.Second)
	w.Must(w.enter("b"))
	if got := w.inQueue(); got != "a b" {
		t.Errorf("%s entered", got)
	}
}

func TestARunThatIsRefusedByItselfHoldsUpNobody(t *testing.T) {
	w := lineOf(t)
	for name, edit := range map[string]func(*tektonv1.PipelineRun){
		"a": func(pr *tektonv1.PipelineRun) { pr.Spec.TaskRunTemplate.ServiceAccountName = "unmarked" },
		"b": func(pr *tektonv1.PipelineRun) { pr.Annotations[contract.AnnotationRequests] = "4 GPUs" },
		"c": func(*tektonv1.PipelineRun) {},
	} {
		w.submit(name, edit)
	}
	w.Clock.Step(time.Second)
	w.submit("d")
	w.with(failing(w.Client, func(call string) error {
		if strings.HasPrefix(call, "create Workload") && strings.Contains(call, "-c-") {
			return apierrors.NewForbidden(kueue.Resource("workloads"), "c", errors.New("a policy of its namespace"))
		}
		return nil
	}))
	for range 2 {
		for _, name := range []string{"a", "b", "c", "d"} {
			if err := w.enter(name); err != nil && name != "c" {
				t.Fatal(err)
			}
		}
		w.Clock.Step(time.Second)
	}
	if got := w.inQueue(); got != "d" {
		t.Errorf("%q entered", got)
	}
}

// TestANewLeaderLetsNobodyEnterInTheSecondOfTheOneBefore: Kueue would take either of them first.
func TestANewLeaderLetsNobodyEnterInTheSecondOfTheOneBefore(t *testing.T) {
	w := lineOf(t, "a", "b")
	w.Must(w.enter("a"))
	w.admission = queue.NewAdmission(w.Client, w.events, w.opts)
	w.Must(w.enter("b"))
	if got := w.inQueue(); got != "a" {
		t.Errorf("%s entered", got)
	}
	w.Clock.Step(time.Second)
	w.Must(w.enter("b"))
	if got := w.inQueue(); got != "a b" {
		t.Errorf("%s entered", got)
	}
}

func TestWorkloadsThatAreMadeHereHaveTheSameOrder(t *testing.T) {
	w := lineOf(t, "a", "b")
	w.opts.Prebuilt = true
	w.with(w.Client)
	for range 3 { // the label goes, then the Workload comes
		w.Must(w.enter("a"))
		w.Must(w.enter("b"))
	}
	if got := w.inQueue(); got != "a" {
		t.Errorf("%s entered", got)
	}
}
