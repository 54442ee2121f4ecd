//go:build e2e

package cluster

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"bflow.dev/bflow/runplan/contract"
)

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// oneGPU is an experiment that leaves room for others beside it.
const oneGPU = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: locked}
spec:
  namespace: benchflow
  model: {name: demo/tiny}
  deployment_profile: sim
  stages: {collect: false}
  overrides: {runtime: {resources: {limits: {nvidia.com/gpu: "1"}}}}
  load: {data: {input: 8, output: 4}, stages: [{rate: 10, duration: 2s}]}
`

// withSetup submits a run that needs a platform: no platform that has a setup key is deployed yet, so the key is
// written into what compile prints.
func (ks locks) withSetup(key, more string) string {
	ks.l.t.Helper()
	file := ks.l.write("locked.yaml", oneGPU+more)
	text := ks.l.must("compile", file, "--load-cpu", "200m", "--bundle", os.Getenv("BFLOW_E2E_BUNDLE"), "--lock",
		os.Getenv("BFLOW_E2E_LOCK"))
	name := ""
	for _, doc := range strings.Split(text, "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
			ks.l.t.Fatal(err)
		}
		if u.GetKind() == "" { // the heading of the file
			continue
		}
		kind := map[string]schema.GroupVersionResource{"ConfigMap": configMaps, "Pipeline": pipelines,
			"PipelineRun": pipelineRuns}[u.GetKind()]
		if kind == pipelineRuns {
			annotations := u.GetAnnotations()
			annotations[contract.AnnotationSetupKey] = key
			u.SetAnnotations(annotations)
		}
		made, err := ks.l.api.Resource(kind).Namespace(namespace).Create(ks.l.t.Context(), u, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			continue // it is of another run too
		}
		if err != nil {
			ks.l.t.Fatal(err)
		}
		if kind == pipelineRuns {
			name = made.GetName()
		}
	}
	ks.l.t.Cleanup(func() {
		if ks.l.t.Failed() {
			ks.l.bflow("cancel", name)
		}
	})
	return name
}

// lease is the lock of the hub itself, nil where there is none.
func (ks locks) lease() *unstructured.Unstructured {
	ks.l.t.Helper()
	u, err := ks.l.getIn(leases, contract.NamespaceSystem, contract.LeasePlatform)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		ks.l.t.Fatal(err)
	}
	return u
}

func holder(u *unstructured.Unstructured) string {
	if u == nil {
		return ""
	}
	name, _, _ := unstructured.NestedString(u.Object, "spec", "holderIdentity")
	return name
}

// releasedWell waits until a run has ended well and was released, and returns it.
func (lr labRun) releasedWell() *unstructured.Unstructured {
	lr.l.t.Helper()
	lr.l.await(40*time.Minute, lr.name+" to be released", func() string {
		pr := lr.l.run(lr.name)
		status, reason := condition(pr)
		if status == "False" {
			lr.l.t.Fatalf("%s failed: %s\n%s", lr.name, reason, lr.l.bflow("status", lr.name).out)
		}
		if status != "True" || pr.GetAnnotations()[contract.AnnotationReleased] == "" {
			return reason + ": " + pr.GetAnnotations()[contract.AnnotationReason]
		}
		return ""
	})
	return lr.l.run(lr.name)
}

func fenceOf(t *testing.T, u *unstructured.Unstructured) int64 {
	t.Helper()
	n, err := strconv.ParseInt(u.GetAnnotations()[contract.AnnotationFence], 10, 64)
	if err != nil {
		t.Fatalf("%s has no fence: %v", u.GetName(), err)
	}
	return n
}

// TestRunsOfTwoSetupsTakeTurns: those of one setup go in parallel, those of another when all of them are released.
func TestRunsOfTwoSetupsTakeTurns(t *testing.T) {
	l := newLab(t, runs(3))
	const one, two = "llm-d/istio/v1", "llm-d/istio/v2"
	keys := []string{one, one, two, one}
	var runs []string
	for _, key := range keys {
		runs = append(runs, l.locks().withSetup(key, ""))
	}
	var ended []*unstructured.Unstructured
	for _, run := range runs {
		ended = append(ended, l.of(run).releasedWell())
	}
	for i, a := range ended {
		for j, b := range ended {
			if keys[i] != keys[j] && fenceOf(t, a) == fenceOf(t, b) {
				t.Errorf("%s and %s have the same fence and different setups", a.GetName(), b.GetName())
			}
			from, until := a.GetAnnotations()[contract.AnnotationAdmitted], a.GetAnnotations()[contract.AnnotationReleased]
			// RFC 3339, of one clock
			if start := b.GetAnnotations()[contract.AnnotationAdmitted]; keys[i] != keys[j] && from < start && start < until {
				t.Errorf("%s with %q was let start at %s, while %s with %q was there from %s until %s",
					b.GetName(), keys[j], start, a.GetName(), keys[i], from, until)
			}
		}
	}
	if fenceOf(t, ended[0]) >= fenceOf(t, ended[2]) {
		t.Error("fences do not grow")
	}
	l.await(10*time.Minute, "the lock to be free", func() string { return holder(l.locks().lease()) })
	for _, run := range runs {
		l.of(run).nothingLeft(beforeForce)
	}
}

// TestALockOfAHubThatIsGoneIsTakenOver: not while a pod of it is alive, and then by a new fence.
func TestALockOfAHubThatIsGoneIsTakenOver(t *testing.T) {
	if testing.Short() {
		t.Skip("a takeover takes minutes")
	}
	l := newLab(t, alone)
	l.await(10*time.Minute, "the lock to be free", func() string { return holder(l.locks().lease()) })
	const gone = "00000000-dead-dead-dead-000000000000"
	fence := l.locks().heldBy(gone)
	pod := l.locks().engineOf(gone)
	run := l.locks().withSetup("llm-d/istio/v1", "")
	l.await(10*time.Minute, "the run to say whom it waits for", func() string {
		said := l.run(run).GetAnnotations()[contract.AnnotationReason]
		if !strings.Contains(said, "Hub 00000000 has not renewed its lock") {
			return "it says " + strconv.Quote(said)
		}
		return ""
	})
	if l.run(run).GetAnnotations()[contract.AnnotationAdmitted] != "" {
		t.Fatal("it was let start beside a pod of another hub")
	}
	if err := l.api.Resource(pods).Namespace(namespace).Delete(t.Context(), pod,
		metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Fatal(err)
	}
	removed := time.Now()
	l.await(10*time.Minute, "the run to be let start", func() string {
		pr := l.run(run)
		if pr.GetAnnotations()[contract.AnnotationAdmitted] == "" {
			return "it says " + strconv.Quote(pr.GetAnnotations()[contract.AnnotationReason])
		}
		return ""
	})
	if took := time.Since(removed); took < time.Minute {
		t.Errorf("it was let start %s after the last pod had gone", took)
	}
	if got := fenceOf(t, l.of(run).releasedWell()); got != fence+1 {
		t.Errorf("its fence is %d, want %d", got, fence+1)
	}
}

// heldBy gives the lock to a hub that never renews it, and returns its fence.
func (ks locks) heldBy(hub string) int64 {
	ks.l.t.Helper()
	all := ks.l.api.Resource(leases).Namespace(contract.NamespaceSystem)
	u, fence := ks.lease(), int64(1)
	spec := map[string]any{
		"holderIdentity": hub, "leaseDurationSeconds": int64(60),
		"renewTime": time.Now().UTC().Format(metav1.RFC3339Micro),
	}
	var err error
	if u == nil {
		u = &unstructured.Unstructured{
			Object: map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec},
		}
		u.SetName(contract.LeasePlatform)
		u.SetAnnotations(map[string]string{contract.AnnotationSetupKey: "theirs", contract.AnnotationFence: "1"})
		_, err = all.Create(ks.l.t.Context(), u, metav1.CreateOptions{})
	} else {
		fence = fenceOf(ks.l.t, u) + 1
		u.SetAnnotations(map[string]string{
			contract.AnnotationSetupKey: "theirs", contract.AnnotationFence: strconv.FormatInt(fence, 10),
		})
		u.Object["spec"] = spec
		_, err = all.Update(ks.l.t.Context(), u, metav1.UpdateOptions{})
	}
	if err != nil {
		ks.l.t.Fatal(err)
	}
	ks.l.t.Cleanup(func() {
		if holder(ks.lease()) == hub { // nobody took it over
			_ = all.Delete(context.WithoutCancel(ks.l.t.Context()), contract.LeasePlatform, metav1.DeleteOptions{})
		}
	})
	return fence
}

// engineOf is a pod as a run of another hub leaves it. It asks for no device and is put on no node.
func (ks locks) engineOf(hub string) string {
	ks.l.t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{
		"automountServiceAccountToken": false, "schedulerName": "nobody",
		"securityContext": map[string]any{"runAsNonRoot": true, "runAsUser": int64(65532),
			"seccompProfile": map[string]any{"type": "RuntimeDefault"}},
		"containers": []any{map[string]any{"name": "pause", "image": "registry.k8s.io/pause:3.10",
			"securityContext": map[string]any{
				"allowPrivilegeEscalation": false, "capabilities": map[string]any{"drop": []any{"ALL"}}}}},
	}}}
	u.SetGenerateName("theirs-")
	u.SetLabels(map[string]string{contract.LabelHub: hub, contract.LabelRun: "theirs", contract.LabelRelease: "theirs"})
	made, err := ks.l.api.Resource(pods).Namespace(namespace).Create(ks.l.t.Context(), u, metav1.CreateOptions{})
	if err != nil {
		ks.l.t.Fatal(err)
	}
	ks.l.t.Cleanup(func() {
		all := ks.l.api.Resource(pods).Namespace(namespace)
		if err := all.Delete(context.WithoutCancel(ks.l.t.Context()), made.GetName(),
			metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			ks.l.t.Logf("removing %s: %v", made.GetName(), err)
		}
	})
	return made.GetName()
}
