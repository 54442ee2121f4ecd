package retention

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue/matrix"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/report/brief"
	"bflow.dev/bflow/runplan/contract"

	"github.com/google/go-cmp/cmp"
	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	namespace = queuetest.Namespace
	hour      = time.Hour
	day       = 24 * time.Hour
)

func TestPeriodsAreWrittenAsTheyAreRead(t *testing.T) {
	for text, want := range map[string]string{"36h": "36h0m0s", "forever": "forever", "0s": "0s", "-1h": "", "soon": "",
		"": ""} {
		var p Period
		if err := p.UnmarshalText([]byte(text)); (err == nil) != (want != "") {
			t.Errorf("%q: error %v", text, err)
			continue
		}
		if got, _ := p.MarshalText(); want != "" && string(got) != want {
			t.Errorf("%q is written as %q, want %q", text, got, want)
		}
	}
}

// begin is when the runs of these tests ended.
func begin() time.Time { return time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC) }

// world is a cluster in memory.
type world struct {
	*queuetest.World
	runs *Reconciler
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	c := queuetest.Builder(t).WithObjects(objects...).WithStatusSubresource(&tektonv1.TaskRun{}).
		WithIndex(&tektonv1.PipelineRun{}, matrix.Index, matrix.IndexOf).Build()
	w := &world{World: queuetest.With(t, begin(), c)}
	w.runs = NewReconciler(c, c, Defaults(), w.Clock, slog.New(slog.DiscardHandler))
	return w
}

// left are the names of what is left of some kinds.
func (w *world) left() (names []string) {
	w.T.Helper()
	for kind, list := range map[string]client.ObjectList{"pod": &corev1.PodList{},
		"volume": &corev1.PersistentVolumeClaimList{}, "run": &tektonv1.PipelineRunList{}} {
		if err := w.Client.List(w.T.Context(), list, client.InNamespace(namespace)); err != nil {
			w.T.Fatal(err)
		}
		text, _ := json.Marshal(list)
		var all struct {
			Items []metav1.PartialObjectMetadata
		}
		if err := json.Unmarshal(text, &all); err != nil {
			w.T.Fatal(err)
		}
		for _, o := range all.Items {
			names = append(names, kind+" "+o.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (w *world) reconcile(id string) ctrl.Result {
	w.T.Helper()
	result, err := w.runs.Reconcile(w.T.Context(), ctrl.Request{
		NamespacedName: types.NamespacedName{Namespace: namespace, Name: id}})
	if err != nil {
		w.T.Fatal(err)
	}
	return result
}

// attempt is one that ended at begin, with a volume and two pods.
func attempt(id string, n int, notes map[string]string) []client.Object {
	name := id
	if n > 1 {
		name = fmt.Sprintf("%s-a%d", id, n)
	}
	pr := queuetest.MakeRun(name, queuetest.Annotated(contract.AnnotationAdmitted, "x"),
		queuetest.Annotated(contract.AnnotationReleased, begin().Format(time.RFC3339)), queuetest.Ended(begin()))
	pr.Labels[contract.LabelRun], pr.Labels[contract.LabelAttempt] = id, strconv.Itoa(n)
	maps.Copy(pr.Annotations, notes)
	pr.Status.ChildReferences = []tektonv1.ChildStatusReference{{Name: name + "-provision"}}
	pod := func(task string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name + "-" + task, Namespace: namespace,
			Labels: map[string]string{pipeline.PipelineRunLabelKey: name}},
			Status: corev1.PodStatus{Phase: phase}}
	}
	return []client.Object{pr, pod("failed", corev1.PodFailed), pod("done", corev1.PodSucceeded),
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + name, Namespace: namespace,
			UID: types.UID("pvc-" + name), OwnerReferences: []metav1.OwnerReference{run.Owner(pr)}}},
		&tektonv1.TaskRun{ObjectMeta: metav1.ObjectMeta{Name: name + "-provision", Namespace: namespace, Labels: pr.Labels},
			Spec: tektonv1.TaskRunSpec{
				Workspaces: []tektonv1.WorkspaceBinding{{Name: contract.WorkspaceRun, SubPath: "sub",
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "pvc-" + name}}}}},
	}
}

// summary is what a run has left of its results, pushed or not.
func summary(id string, n int, link string) client.Object {
	text, _ := json.Marshal(brief.Brief{Run: id, Attempt: n, Links: map[string]string{brief.LinkMLflow: link}})
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: contract.ResultConfigMap(id), Namespace: namespace},
		Data: map[string]string{brief.Key: string(text)}}
}

func TestWhatAnEndedRunKeepsGoesInItsTime(t *testing.T) {
	const (
		pods   = "pod r-done, pod r-failed, "
		volume = "volume pvc-r"
	)
	fetched := map[string]string{contract.AnnotationFetched: "2026-11-02T00:00:00Z"}
	ttl := func(seconds string, more map[string]string) map[string]string {
		out := map[string]string{contract.AnnotationTTL: seconds}
		maps.Copy(out, more)
		return out
	}
	for _, row := range []struct {
		name  string
		notes map[string]string
		more  []client.Object
		after time.Duration
		want  string        // what is left
		again time.Duration // when it is looked at again, 0 = not by itself
	}{
		{name: "all of it at first", after: hour, want: pods + "run r, " + volume, again: 23 * hour},
		{name: "its pods go after a day", after: day, want: "run r, " + volume, again: 6 * day},
		{name: "results that are nowhere else keep it", after: 100 * day, want: "run r, " + volume, again: hour},
		{name: "results that are fetched let the volume go", after: 7 * day, notes: fetched, want: "run r", again: 23 * day},
		{name: "and so do those that are pushed", after: 7 * day, more: []client.Object{summary("r", 1, "https://mlflow/1")},
			want: "run r", again: 23 * day},
		{name: "a push that has failed saves nothing", after: 7 * day, more: []client.Object{summary("r", 1, "")},
			want: "run r, " + volume, again: hour},
		{name: "nor does that of another attempt", after: 7 * day, more: []client.Object{summary("r", 2, "https://mlflow/1")},
			want: "run r, " + volume, again: hour},
		{name: "a volume is deleted where a crash came between the word of it and the deed", after: 7 * day, want: "run r",
			again: 23 * day,
			notes: map[string]string{contract.AnnotationVolumeDeleted: "2026-11-08T00:00:00Z: its results are at x"}},
		{name: "the run goes last", after: 30 * day, notes: fetched, want: ""},
		{name: "an experiment may say when", after: 90 * time.Second, notes: ttl("60", fetched), want: ""},
		{name: "not before", after: 30 * time.Second, notes: ttl("60", fetched), want: pods + "run r, " + volume,
			again: 30 * time.Second},
		{name: "nor before its results are saved", after: day, notes: ttl("60", nil), want: "run r, " + volume, again: hour},
		{name: "it may say at once", notes: ttl("0", fetched), want: ""},
		{name: "it may keep the run for longer than others", after: 30 * day, notes: ttl("31536000", fetched), want: "run r",
			again: 335 * day},
		{name: "a time that is none counts for nothing", after: hour, notes: ttl("-5", fetched),
			want: pods + "run r, " + volume, again: 23 * hour},
		{name: "nor does one that is too long to be counted", after: hour, notes: ttl("99999999999999", fetched),
			want: pods + "run r, " + volume, again: 23 * hour},
		{name: "a run that is kept for its devices is not at its end", after: 100 * day,
			notes: map[string]string{contract.AnnotationReleased: "", contract.AnnotationFetched: "x"},
			want:  pods + "run r, " + volume},
		{name: "nor is one that gets another attempt", after: 100 * day,
			more: attempt("r", 2, map[string]string{contract.AnnotationReleased: ""}), notes: fetched,
			want: "pod r-a2-done, pod r-a2-failed, " + pods + "run r, run r-a2, " + volume + ", volume pvc-r-a2"},
		{name: "the results are those of its last attempt", after: 7 * day, more: attempt("r", 2, nil), notes: fetched,
			want: "run r, run r-a2, " + volume + ", volume pvc-r-a2", again: hour},
		{name: "all attempts go together", after: 30 * day, more: attempt("r", 2, fetched), want: ""},
		{name: "a run of a matrix stays as long as that", after: 30 * day, want: "run r", notes: fetched},
	} {
		t.Run(row.name, func(t *testing.T) {
			objects := append(attempt("r", 1, row.notes), row.more...)
			if strings.Contains(row.name, "of a matrix") {
				objects[0].GetLabels()[contract.LabelMatrix] = "m"
			}
			w := newWorld(t, objects...)
			w.Clock.SetTime(begin().Add(row.after))
			again := w.reconcile("r").RequeueAfter
			if diff := cmp.Diff(row.want, strings.Join(w.left(), ", ")); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
			if again != row.again {
				t.Errorf("it is looked at again after %s, want %s", again, row.again)
			}
		})
	}
}

// listings counts how often the volumes of a namespace are listed.
type listings struct {
	client.Client
	volumes int
}

func (l *listings) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*corev1.PersistentVolumeClaimList); ok {
		l.volumes++
	}
	return l.Client.List(ctx, list, opts...)
}

func TestTheVolumesOfAThousandRunsAreListedOnce(t *testing.T) {
	const runs, looked = 1000, 20 // every one is looked for, and some are looked after: a cluster in memory is slow
	var objects []client.Object
	for i := range runs {
		made := attempt(fmt.Sprintf("r%d", i), 1, nil)
		if i >= looked {
			made = made[3:4]
		}
		objects = append(objects, made...)
	}
	w := newWorld(t, objects...)
	counted := &listings{Client: w.Client}
	w.runs = NewReconciler(w.Client, counted, Defaults(), w.Clock, slog.New(slog.DiscardHandler))
	for i, want := range []int{1, 2} {
		w.Clock.SetTime(begin().Add(8*day + time.Duration(i)*hour))
		for n := range runs {
			id := fmt.Sprintf("r%d", n)
			claims, err := w.runs.volumes.of(t.Context(), []tektonv1.PipelineRun{
				*attempt(id, 1, nil)[0].(*tektonv1.PipelineRun)})
			if err != nil || len(claims) != 1 || claims[0].Name != "pvc-"+id {
				t.Fatalf("volumes of %s are %v, error %v", id, claims, err)
			}
			if n >= looked {
				continue
			}
			if again := w.reconcile(id).RequeueAfter; again != unsavedRecheckInterval {
				t.Fatalf("%s is looked at again after %s", id, again)
			}
		}
		if counted.volumes != want {
			t.Fatalf("volumes were listed %d times for %d runs, want %d", counted.volumes, (i+1)*runs, want)
		}
	}
}

// TestAVolumeThatCameAfterTheListKeepsItsRun: what is deleted with a run that ended after the list would be lost.
func TestAVolumeThatCameAfterTheListKeepsItsRun(t *testing.T) {
	w := newWorld(t, attempt("old", 1, nil)...)
	w.Clock.SetTime(begin().Add(40 * day))
	w.reconcile("old")
	now := w.Clock.Now().Add(time.Second)
	for _, o := range attempt("new", 1, map[string]string{contract.AnnotationTTL: "0",
		contract.AnnotationReleased: now.Format(time.RFC3339)}) {
		if pr, ok := o.(*tektonv1.PipelineRun); ok {
			pr.Status.CompletionTime = &metav1.Time{Time: now}
		}
		if err := w.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.Clock.SetTime(now.Add(time.Second))
	w.reconcile("new")
	if got := w.left(); !slices.Contains(got, "run new") || !slices.Contains(got, "volume pvc-new") {
		t.Errorf("left are %v", got)
	}
}

func TestAVolumeThatIsNotTheRunsOwnIsLeft(t *testing.T) {
	objects := attempt("r", 1, map[string]string{contract.AnnotationTTL: "0"})
	claim := objects[3]
	claim.SetOwnerReferences(nil)
	w := newWorld(t, objects...)
	w.reconcile("r")
	if got := strings.Join(w.left(), ", "); got != "pod r-done, pod r-failed, volume pvc-r" {
		t.Errorf("left are %s", got)
	}
}

func TestWhoeverLooksForAVolumeThatIsGoneIsToldWhereTheResultsAre(t *testing.T) {
	w := newWorld(t, append(attempt("r", 1, nil), summary("r", 1, "https://mlflow/1"))...)
	w.Clock.SetTime(begin().Add(7 * day))
	w.reconcile("r")
	pr := &tektonv1.PipelineRun{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "r"}, pr); err != nil {
		t.Fatal(err)
	}
	if got := pr.Annotations[contract.AnnotationVolumeDeleted]; got != "2026-11-08T12:00:00Z: its results are at "+
		"https://mlflow/1" {
		t.Errorf("it says %q", got)
	}
}
