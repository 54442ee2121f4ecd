package retention

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/runplan/contract"

	"github.com/google/go-cmp/cmp"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/apis"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// makeMatrix is one whose points have all ended.
func makeMatrix(points int, notes map[string]string) []client.Object {
	spec := pipelines.Matrix{Image: "reg.example/bflow:1"}.Spec()
	parent := &tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: namespace, UID: "m",
		Annotations: map[string]string{contract.AnnotationResultsSize: "3Gi"}},
		Spec: tektonv1.PipelineRunSpec{PipelineSpec: spec}}
	for key, value := range notes {
		parent.Annotations[key] = value
	}
	parent.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionTrue})
	parent.Status.CompletionTime = &metav1.Time{Time: begin()}
	yes := true
	cr := &tektonv1beta1.CustomRun{ObjectMeta: metav1.ObjectMeta{Name: "m-children", Namespace: namespace, UID: "cr",
		OwnerReferences: []metav1.OwnerReference{{Kind: "PipelineRun", Name: "m", UID: "m", Controller: &yes}}}}
	cr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionTrue})
	objects := []client.Object{parent, cr, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{contract.LabelEnabled: "true"}}}}
	for i := range points {
		run := attempt(fmt.Sprintf("m-%05d", i+1), 1, map[string]string{contract.AnnotationPoint: strconv.Itoa(i + 1)})
		run[0].GetLabels()[contract.LabelMatrix] = "m"
		run[0].SetOwnerReferences([]metav1.OwnerReference{
			{Kind: "CustomRun", Name: "m-children", UID: "cr", Controller: &yes}})
		objects = append(objects, run...)
	}
	return objects
}

// matrix looks after the matrix until nothing more is to be done now; Tekton ends each task that gathers as end says.
func (w *world) matrix(end func(*tektonv1.TaskRun)) (tasks []string, again time.Duration) {
	w.T.Helper()
	for range 100 {
		result, err := NewMatrices(w.runs).Reconcile(w.T.Context(),
			ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: "m-children"}})
		if err != nil {
			w.T.Fatal(err)
		}
		begun := false
		for _, task := range w.gathers() {
			if !task.IsDone() {
				begun = true
				tasks = append(tasks, task.Annotations[contract.AnnotationGathers])
				end(&task)
				if err := w.Client.Status().Update(w.T.Context(), &task); err != nil {
					w.T.Fatal(err)
				}
			}
		}
		if !begun && result.RequeueAfter != gatherPollInterval {
			return tasks, result.RequeueAfter
		}
	}
	w.T.Fatal("it does not come to an end")
	return nil, 0
}

func (w *world) gathers() []tektonv1.TaskRun {
	w.T.Helper()
	var list tektonv1.TaskRunList
	if err := w.Client.List(w.T.Context(), &list, client.MatchingLabels{
		contract.LabelRole: contract.RoleGather}); err != nil {
		w.T.Fatal(err)
	}
	return list.Items
}

// succeeds is a task that has gathered all of its runs but those that spoil names.
func succeeds(spoil ...string) func(*tektonv1.TaskRun) {
	return func(task *tektonv1.TaskRun) {
		task.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionTrue})
		there := slices.DeleteFunc(gathersOf(task), func(name string) bool { return slices.Contains(spoil, name) })
		task.Status.Results = []tektonv1.TaskRunResult{{Name: contract.ResultGathered,
			Value: *tektonv1.NewStructuredValues(strings.Join(there, ","))}}
	}
}

func fails(task *tektonv1.TaskRun) {
	task.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionFalse,
		Reason: "TaskRunTimeout"})
}

// volumes are the claims that are left.
func (w *world) volumes() (names []string) {
	for _, name := range w.left() {
		if rest, ok := strings.CutPrefix(name, "volume "); ok {
			names = append(names, rest)
		}
	}
	return names
}

func TestOfAMatrixOneVolumeIsLeft(t *testing.T) {
	w := newWorld(t, makeMatrix(24, nil)...)
	tasks, _ := w.matrix(succeeds())
	if diff := cmp.Diff([]string{"m-results"}, w.volumes()); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
	if left := w.left(); slices.Contains(left, "pod m-00001-done") {
		t.Errorf("what ended keeps its volume by its pods: %v", left)
	}
	if len(tasks) != 3 || len(w.gathers()) != 0 {
		t.Errorf("tasks for %v were started, %d are left", tasks, len(w.gathers()))
	}
	pr, claim := &tektonv1.PipelineRun{}, &corev1.PersistentVolumeClaim{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "m-00007"}, pr); err != nil {
		t.Fatal(err)
	}
	if got := pr.Annotations[contract.AnnotationResults]; got != "m-results/m-00007" {
		t.Errorf("its results are at %q", got)
	}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "m-results"}, claim); err != nil {
		t.Fatal(err)
	}
	if size := claim.Spec.Resources.Requests[corev1.ResourceStorage]; size.String() != "3Gi" ||
		claim.OwnerReferences[0].UID != "m" {
		t.Errorf("the volume has %s and belongs to %v", size.String(), claim.OwnerReferences)
	}
}

// TestARunThatFailedKeepsItsPodsForADay, and its volume with them, which they hold.
func TestARunThatFailedKeepsItsPodsForADay(t *testing.T) {
	objects := makeMatrix(1, nil)
	pr := objects[3].(*tektonv1.PipelineRun)
	pr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionFalse, Reason: "Failed"})
	w := newWorld(t, objects...)
	w.matrix(succeeds())
	if left := w.left(); !slices.Contains(left, "pod m-00001-failed") || !slices.Contains(left, "volume pvc-m-00001") {
		t.Errorf("left are %v", left)
	}
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(pr), pr); err != nil ||
		pr.Annotations[contract.AnnotationResults] != "m-results/m-00001" {
		t.Errorf("its results are at %q, %v", pr.Annotations[contract.AnnotationResults], err)
	}
	w.Clock.SetTime(begin().Add(day))
	w.reconcile("m-00001")
	if diff := cmp.Diff([]string{"m-results"}, w.volumes()); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
}

// TestAVolumeIsDeletedWhereACrashCameAfterTheWordOfIt: the task that gathered tells it again.
func TestAVolumeIsDeletedWhereACrashCameAfterTheWordOfIt(t *testing.T) {
	w := newWorld(t, makeMatrix(2, nil)...)
	w.matrix(func(task *tektonv1.TaskRun) {
		succeeds()(task)
		pr := &tektonv1.PipelineRun{}
		if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "m-00001"}, pr); err != nil {
			t.Fatal(err)
		}
		metav1.SetMetaDataAnnotation(&pr.ObjectMeta, contract.AnnotationVolumeDeleted, "just now")
		if err := w.Client.Update(t.Context(), pr); err != nil {
			t.Fatal(err)
		}
	})
	if diff := cmp.Diff([]string{"m-results"}, w.volumes()); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
}

func TestVolumesThatCannotBeGatheredStay(t *testing.T) {
	for _, row := range []struct {
		name  string
		end   func(*tektonv1.TaskRun)
		edit  func([]client.Object)
		want  []string // volumes
		tasks int
	}{
		{name: "results that are damaged", end: succeeds("m-00002"), want: []string{"m-results", "pvc-m-00002"}, tasks: 1},
		{name: "one that no node can have beside the others keeps these from nothing",
			want: []string{"m-results", "pvc-m-00002"}, tasks: 4, end: func(task *tektonv1.TaskRun) {
				if slices.Contains(gathersOf(task), "m-00002") {
					fails(task)
				} else {
					succeeds()(task)
				}
			}},
		{name: "where nothing works it is given up", end: fails,
			want: []string{"m-results", "pvc-m-00001", "pvc-m-00002", "pvc-m-00003"}, tasks: 3},
		{name: "nothing is done in a namespace that is not one of runs", end: succeeds(), tasks: 0,
			want: []string{"pvc-m-00001", "pvc-m-00002", "pvc-m-00003"},
			edit: func(objects []client.Object) { objects[2].SetLabels(nil) }},
		{name: "runs that share a volume have none to gather", end: succeeds(), tasks: 0,
			want: []string{"pvc-m-00001", "pvc-m-00002", "pvc-m-00003"},
			edit: func(objects []client.Object) { delete(objects[0].GetAnnotations(), contract.AnnotationResultsSize) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			objects := makeMatrix(3, nil)
			if row.edit != nil {
				row.edit(objects)
			}
			w := newWorld(t, objects...)
			tasks, _ := w.matrix(row.end)
			if diff := cmp.Diff(row.want, w.volumes()); diff != "" {
				t.Errorf("volumes (-want +got):\n%s", diff)
			}
			if len(tasks) != row.tasks {
				t.Errorf("tasks were started for %q, want %d", tasks, row.tasks)
			}
		})
	}
}

func TestAMatrixGoesWhole(t *testing.T) {
	for _, row := range []struct {
		name  string
		after time.Duration
		saved int // runs whose results were fetched
		gone  bool
		again time.Duration
	}{
		{name: "not before its time", after: 30 * time.Minute, saved: 3, again: 30 * time.Minute},
		{name: "not before the results of all of its runs are fetched", after: 2 * hour, saved: 2, again: hour},
		{name: "then with all that it has", after: 2 * hour, saved: 3, gone: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			objects := makeMatrix(3, map[string]string{contract.AnnotationTTL: "3600"})
			for _, o := range objects {
				if pr, ok := o.(*tektonv1.PipelineRun); ok && pr.Name != "m" && point(pr) <= row.saved {
					pr.Annotations[contract.AnnotationFetched] = "x"
				}
			}
			w := newWorld(t, objects...)
			w.Clock.SetTime(begin().Add(row.after))
			_, again := w.matrix(succeeds())
			if gone := !slices.Contains(w.left(), "run m"); gone != row.gone || again != row.again {
				t.Errorf("it is gone: %t, want %t; it is looked at again after %s, want %s", gone, row.gone, again, row.again)
			}
		})
	}
}
