package cluster_test

import (
	"testing"
	"time"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/cluster"

	"github.com/google/go-cmp/cmp"
	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhatEndedRunsKeepIsCountedUntilTheirResultsAreSaved(t *testing.T) {
	srv, c := newCluster(t)
	ended := condition(corev1.ConditionTrue, "Succeeded", "")
	released := annotated(contract.AnnotationReleased, "2026-11-26T12:00:00Z")
	for _, pr := range []string{"ended", "bare"} {
		srv.Put(runsAt+"/"+pr, makeRun(pr, ended, released))
	}
	srv.Put(runsAt+"/runs", makeRun("runs"))
	for _, of := range []string{"ended", "runs"} {
		run, err := c.Find(t.Context(), of, namespace)
		if err != nil {
			t.Fatal(err)
		}
		srv.Put("/api/v1/namespaces/bench/pods/"+of+"-pod",
			corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{contract.LabelPlanHash: planHash(),
				pipeline.PipelineRunLabelKey: of}}})
		srv.Put("/api/v1/namespaces/bench/persistentvolumeclaims/pvc-"+of, corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: run.Last().UID}}},
			Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}}}})
	}
	want := []cluster.Kept{{Run: "ended", Namespace: namespace, Pods: 1, Volumes: 1, Bytes: 2 << 30}}
	check := func() {
		t.Helper()
		got, err := c.Kept(t.Context(), namespace)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
	}
	check()
	at := time.Date(2026, 11, 26, 13, 0, 0, 0, time.UTC)
	for range 2 { // the first time counts
		run, err := c.Find(t.Context(), "ended", namespace)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.MarkFetched(t.Context(), run, at); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Hour)
	}
	want[0].Saved = true
	check()
	run, _ := c.Find(t.Context(), "ended", namespace)
	if got := cluster.StatusOf(run, nil).Volume; got != "its results were fetched on 2026-11-26T13:00:00Z" {
		t.Errorf("its status says %q", got)
	}
	srv.Change(runsAt+"/ended", func(o apitest.Object) {
		annotations := o["metadata"].(apitest.Object)["annotations"].(apitest.Object)
		annotations[contract.AnnotationVolumeDeleted] = "2026-11-27T13:00:00Z: its results are at x"
	})
	run, _ = c.Find(t.Context(), "ended", namespace)
	if got := cluster.StatusOf(run, nil).Volume; got != "deleted on 2026-11-27T13:00:00Z: its results are at x" {
		t.Errorf("its status says %q", got)
	}
}
