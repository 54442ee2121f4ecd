//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"bflow.dev/bflow/runplan/contract"
)

// TestAnEvictedRunStartsAgain drains the queue while a run is under load: it ends, nothing of it is left, and its next
// attempt runs once the queue is open.
func TestAnEvictedRunStartsAgain(t *testing.T) {
	l := newLab(t, alone)
	run := l.submit(l.write("evicted.yaml", experiment(fourOfEight, "20s", "")))[0]
	during("load-gen-0")(l, run)
	l.quota().stop("HoldAndDrain")
	t.Cleanup(func() { l.quota().stop("None") })
	l.of(run).waitForEnd(20 * time.Minute)
	l.of(run).nothingLeft(beforeForce)
	l.quota().stop("None")
	again := run + "-a2"
	l.await(10*time.Minute, again+" to be there", func() string {
		_, err := l.get(pipelineRuns, again)
		if err != nil {
			return err.Error()
		}
		return ""
	})
	l.of(again).succeeded()
	l.of(again).released()
	l.of(run).nothingLeft(beforeForce)
	if n := len(l.of(run).objects(pipelineRuns)); n != 2 {
		t.Errorf("%d attempts of %s, want 2", n, run)
	}
}

// TestWhatIsLeftIsDeleted: a pod of a run that its own tasks have not removed is removed by the controller, and the run
// is not released before. The controller is away while the run ends, so that there is time to leave one.
func TestWhatIsLeftIsDeleted(t *testing.T) {
	l := newLab(t, alone)
	run := l.submit(l.write("left.yaml", experiment(fourOfEight, "3s", "")))[0]
	l.of(run).waitForTask("load-gen-0")
	l.controllers().scale(0)
	t.Cleanup(func() { l.controllers().scale(1) })
	l.of(run).waitForEnd(20 * time.Minute)
	l.of(run).leavePod()
	l.controllers().scale(1)
	l.of(run).nothingLeft(beforeForce)
	l.of(run).released()
	for _, e := range l.list(events, "") {
		name, _, _ := unstructured.NestedString(e.Object, "involvedObject", "name")
		if reason, _, _ := unstructured.NestedString(e.Object, "reason"); name == run && reason == "DeletedLeftover" {
			return
		}
	}
	t.Errorf("no event of %s tells that something was deleted", run)
}

// leavePod makes a pod that looks like one that provision has made for the run and that keeps running.
func (lr labRun) leavePod() {
	lr.l.t.Helper()
	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "left-", Namespace: namespace, Labels: map[string]string{
			contract.LabelRun: lr.name, contract.LabelRelease: "left", contract.LabelHub: lr.l.hub(),
		}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(0)), AutomountServiceAccountToken: new(false),
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(65532)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{
				Name: "pause", Image: "registry.k8s.io/pause:3.10", ImagePullPolicy: corev1.PullIfNotPresent,
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			}},
		},
	}
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil {
		lr.l.t.Fatal(err)
	}
	if _, err := lr.l.api.Resource(pods).Namespace(namespace).Create(lr.l.t.Context(),
		&unstructured.Unstructured{Object: tree}, metav1.CreateOptions{}); err != nil {
		lr.l.t.Fatal(err)
	}
}

func (cs controllers) scale(replicas int) {
	cs.l.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if _, err := cs.l.api.Resource(deployments).Namespace(ourController.namespace).
		Patch(context.WithoutCancel(cs.l.t.Context()), "bflow-controller", types.MergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
		cs.l.t.Fatal(err)
	}
}

// hub is the identity of the cluster.
func (l *lab) hub() string {
	l.t.Helper()
	system, err := l.api.Resource(namespaces).Get(l.t.Context(), "kube-system", metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return string(system.GetUID())
}

// stop sets the stop policy of the queue: None, Hold or HoldAndDrain.
func (q quota) stop(policy string) {
	q.l.t.Helper()
	patch := []byte(`{"spec":{"stopPolicy":"` + policy + `"}}`)
	if _, err := q.l.api.Resource(clusterQueue).Patch(context.WithoutCancel(q.l.t.Context()), contract.TargetLocal,
		types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		q.l.t.Fatal(err)
	}
}
