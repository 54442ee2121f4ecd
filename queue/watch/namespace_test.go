package watch_test

import (
	"slices"
	"testing"

	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

func namespace(name, label string) *corev1.Namespace {
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if label != "" {
		n.Labels = map[string]string{contract.LabelEnabled: label}
	}
	return n
}

// newCluster has a run, a Workload and a queue of one name in each of several namespaces.
func newCluster(t *testing.T) client.WithWatch {
	t.Helper()
	builder := queuetest.Builder(t).WithObjects(&kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "local"}})
	for name, label := range map[string]string{"bench": "true", "nightly": "true", "shop": "", "past": "false"} {
		in := metav1.ObjectMeta{Namespace: name, Name: "x"}
		builder.WithObjects(namespace(name, label), &tektonv1.PipelineRun{ObjectMeta: in}, &kueue.Workload{ObjectMeta: in},
			&kueue.LocalQueue{ObjectMeta: in})
	}
	return builder.Build()
}

func TestWhatLiesInOtherNamespacesIsNotThere(t *testing.T) {
	c := newCluster(t)
	hidden := watch.OnlyRunNamespaces(c)
	for name, want := range map[string]bool{"bench": true, "nightly": true, "shop": false, "past": false,
		"nowhere": false} {
		err := hidden.Get(t.Context(), client.ObjectKey{Namespace: name, Name: "x"}, &tektonv1.PipelineRun{})
		if (err == nil) != want || err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("a run in %s: %v", name, err)
		}
		var runs tektonv1.PipelineRunList
		if err := hidden.List(t.Context(), &runs, client.InNamespace(name)); err != nil || len(runs.Items) == 1 != want {
			t.Errorf("%d runs in %s: %v", len(runs.Items), name, err)
		}
	}
	for _, row := range []struct {
		list client.ObjectList
		want int
	}{
		{&tektonv1.PipelineRunList{}, 2}, {&kueue.WorkloadList{}, 2}, {&kueue.LocalQueueList{}, 2},
		{&kueue.ClusterQueueList{}, 1}, // of no namespace
		{&corev1.NamespaceList{}, 4},
	} {
		if err := hidden.List(t.Context(), row.list); err != nil {
			t.Fatal(err)
		}
		if items := apimeta.LenList(row.list); items != row.want {
			t.Errorf("%T: %d, want %d", row.list, items, row.want)
		}
	}
	if names, err := watch.RunNamespaces(t.Context(), c); err != nil ||
		!slices.Equal(names, []string{"bench", "nightly"}) {
		t.Errorf("got %q, %v", names, err)
	}
}

func TestANamespaceBecomesOneOfRuns(t *testing.T) {
	p := watch.Enabled()
	for _, row := range []struct {
		name     string
		old, now string // values of the label
		made     bool   // just now
		initial  bool   // it was there before
		want     bool
	}{
		{name: "it gets the label", old: "", now: "true", want: true},
		{name: "it had the label", old: "true", now: "true"},
		{name: "it loses the label", old: "true", now: "false"},
		{name: "it is made with the label", made: true, now: "true", want: true},
		{name: "it is made without", made: true},
		{name: "it was there before we looked: its runs are told of anyway", made: true, initial: true, now: "true"},
	} {
		got := false
		if row.made {
			got = p.Create(event.CreateEvent{Object: namespace("x", row.now), IsInInitialList: row.initial})
		} else {
			got = p.Update(event.UpdateEvent{ObjectOld: namespace("x", row.old), ObjectNew: namespace("x", row.now)})
		}
		if got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
	c := watch.OnlyRunNamespaces(newCluster(t))
	if asked := watch.RunsOf(c)(t.Context(), namespace("bench", "true")); len(asked) != 1 ||
		asked[0].Namespace != "bench" || asked[0].Name != "x" {
		t.Errorf("asked for %v", asked)
	}
}
