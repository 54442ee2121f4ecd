package controller

import (
	"io"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

func TestFlags(t *testing.T) {
	o, err := Parse([]string{"--cache-timeout", "1m", "--log-level", "debug", "--prebuilt-workloads"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if o.CacheTimeout != time.Minute || o.LogLevel.String() != "DEBUG" || !o.Prebuilt || !o.LeaderElection ||
		o.LeaseDuration != 15*time.Second || o.RenewDeadline != 10*time.Second || o.RetryPeriod != 2*time.Second ||
		o.SystemNamespace != contract.NamespaceSystem {
		t.Errorf("got %+v", o)
	}
}

func TestMainSaysWhatIsWrong(t *testing.T) {
	for _, row := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"an unknown flag", []string{"--nope"}, contract.ExitUsage, "flag provided but not defined: -nope"},
		{"an argument", []string{"bench"}, contract.ExitUsage, `unexpected argument "bench"`},
		{"no kubeconfig", []string{"--kubeconfig", "/nowhere"}, contract.ExitFail, "reading where the cluster is"},
		{"the version", []string{"--version"}, contract.ExitPass, "bflow-controller "},
	} {
		t.Run(row.name, func(t *testing.T) {
			var said strings.Builder
			if code := Main(t.Context(), row.args, &said, &said, nil); code != row.code ||
				!strings.Contains(said.String(), row.want) {
				t.Errorf("code %d, said %q", code, said.String())
			}
		})
	}
}

func TestCachesHoldOnlyOursAndLittleOfIt(t *testing.T) {
	for kind, by := range cacheOptions().ByObject {
		if _, all := kind.(*kueue.Workload); all {
			continue // Kueue's own controller labels none of them
		}
		if by.Label == nil || by.Label.Matches(labels.Set{}) ||
			!by.Label.Matches(labels.Set{contract.LabelPlanHash: "abc", contract.LabelTarget: "far",
				contract.LabelRole: contract.RoleMatrix}) {
			t.Errorf("%T: selector %v", kind, by.Label)
		}
	}
	pr := &tektonv1.PipelineRun{}
	pr.Status.PipelineSpec = &tektonv1.PipelineSpec{}
	pr.Status.ChildReferences = []tektonv1.ChildStatusReference{{Name: "kept"}}
	if slim, _ := slimRun(pr); slim.(*tektonv1.PipelineRun).Status.PipelineSpec != nil ||
		len(pr.Status.ChildReferences) != 1 {
		t.Error("a slim run has no Pipeline and keeps its children")
	}
	for kind, sets := range map[string]int{"Job": 0, "PipelineRun": 1} {
		wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: kind}}},
			Spec: kueue.WorkloadSpec{PodSets: make([]kueue.PodSet, 1)}}
		if slim, _ := slimWorkload(wl); len(slim.(*kueue.Workload).Spec.PodSets) != sets {
			t.Errorf("the Workload of a %s keeps %d pod sets", kind, len(wl.Spec.PodSets))
		}
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"}}
	if slim, _ := slimPod(pod); slim.(*corev1.Pod).Status.Phase != corev1.PodRunning ||
		slim.(*corev1.Pod).Status.PodIP != "" {
		t.Error("a slim pod is its phase")
	}
}
