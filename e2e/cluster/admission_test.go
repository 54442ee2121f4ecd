//go:build e2e

package cluster

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"bflow.dev/bflow/runplan/contract"
)

var roleBindings = schema.GroupVersionResource{
	Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings",
}

// TestNobodyElseSaysWhatBecomesOfARun tries, as an administrator, to move, rename, free and revive a run that holds a
// GPU.
func TestNobodyElseSaysWhatBecomesOfARun(t *testing.T) {
	l := newLab(t)
	run := l.submit(l.write("slow.yaml", experiment(slowStart, "1s", "")))[0]
	during(contract.Provision)(l, run)
	refused := func(change, want string) {
		t.Helper()
		_, err := l.api.Resource(pipelineRuns).Namespace(namespace).Patch(t.Context(), run, types.MergePatchType,
			[]byte(change), metav1.PatchOptions{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want a refusal with %q", change, err, want)
		}
	}
	refused(`{"metadata":{"labels":{"bflow.dev/target":"elsewhere"}}}`, "names its target")
	refused(`{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"elsewhere"}}}`, "changes only while it waits")
	refused(`{"metadata":{"labels":{"bflow.dev/run":"other"}}}`, "identifies the owner of devices")
	refused(`{"metadata":{"annotations":{"bflow.dev/freed":"2026-01-01T00:00:00Z"}}}`, "written by bflow-controller only")
	refused(`{"metadata":{"annotations":{"bflow.dev/admitted-to":"elsewhere"}}}`, "written by bflow-controller only")
	refused(`{"metadata":{"labels":{"bflow.dev/release":"other"}}}`, "has no label bflow.dev/release")
	l.must("cancel", run)
	refused(`{"spec":{"status":null}}`, "stays cancelled")
	refused(`{"metadata":{"annotations":{"bflow.dev/cancelling":null}}}`, "cannot be withdrawn")
	l.of(run).waitForEnd(20 * time.Minute)
	l.of(run).nothingLeft(beforeForce)
}

// TestARunPastTheQueueDeploysNothing: without the mark of the compiler no rule of the API server holds it, and nobody
// would find what it leaves.
func TestARunPastTheQueueDeploysNothing(t *testing.T) {
	l := newLab(t)
	file := l.write("slow.yaml", experiment(oneOfEight, "1s", ""))
	stream := l.must("compile", file, "--no-queue", "--lock", os.Getenv("BFLOW_E2E_LOCK"), "--load-cpu", "200m")
	run := l.create(strings.ReplaceAll(stream, contract.LabelPlanHash+":", "example.com/plan-hash:"))
	t.Cleanup(func() {
		if err := l.api.Resource(pipelineRuns).Namespace(namespace).Delete(context.WithoutCancel(t.Context()), run,
			metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Logf("removing %s: %v", run, err)
		}
	})
	l.of(run).waitForEnd(20 * time.Minute)
	if status, reason := condition(l.run(run)); status != "False" {
		t.Errorf("it is %s", reason)
	}
	tasks := l.list(taskRuns, "tekton.dev/pipelineRun="+run+",tekton.dev/pipelineTask="+contract.Provision)
	said := slices.ContainsFunc(tasks, func(u unstructured.Unstructured) bool {
		text, _ := json.Marshal(u.Object["status"])
		return strings.Contains(string(text), "has no label "+contract.LabelPlanHash)
	})
	if !said {
		t.Errorf("provision does not say why: %d tasks", len(tasks))
	}
	if left := l.of(run).objects(deployments); len(left) > 0 {
		t.Errorf("%d Deployments", len(left))
	}
}

// TestPodsThatAskForDevicesAreThoseOfRuns tries it as an account of the namespace with ClusterRole edit, and as the
// tasks of runs. Nothing is made.
func TestPodsThatAskForDevicesAreThoseOfRuns(t *testing.T) {
	l := newLab(t)
	binding := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
		"metadata": map[string]any{"generateName": "e2e-edit-"},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "default", "namespace": namespace}},
	}}
	bindings := l.api.Resource(roleBindings).Namespace(namespace)
	made, err := bindings.Create(t.Context(), binding, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bindings.Delete(context.WithoutCancel(t.Context()), made.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	const refusal = "only runs of bflow may create pods that request devices in namespace " + namespace
	editor, runner := l.as("default"), l.as(contract.AccountRunner)
	for _, row := range []struct {
		name string
		by   dynamic.Interface
		kind schema.GroupVersionResource
		gpus int64
		want string
	}{
		{"a pod", editor, pods, 1, refusal},
		{"a Deployment", editor, deployments, 1, refusal},
		{"a Job", editor, jobs, 1, refusal},
		{"a pod without devices", editor, pods, 0, ""},
		{"a Deployment of a run", runner, deployments, 1, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			l.in(t).await(time.Minute, "the answer", func() string { // rights are not known everywhere at once
				_, err := row.by.Resource(row.kind).Namespace(namespace).Create(t.Context(),
					asksFor(row.kind, row.gpus), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				switch {
				case row.want == "" && err == nil, row.want != "" && err != nil && strings.Contains(err.Error(), row.want):
					return ""
				case err != nil:
					return err.Error()
				}
				return "it is allowed"
			})
		})
	}
}

// as speaks to the cluster as an account of the namespace of runs.
func (l *lab) as(account string) dynamic.Interface {
	l.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", l.kubeconfig)
	if err != nil {
		l.t.Fatal(err)
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + namespace + ":" + account,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		l.t.Fatal(err)
	}
	return client
}

// asksFor is an object whose pod fits the level restricted and asks for GPUs.
func asksFor(kind schema.GroupVersionResource, gpus int64) *unstructured.Unstructured {
	container := map[string]any{"name": "c", "image": "registry.k8s.io/pause:3.10",
		"securityContext": map[string]any{
			"allowPrivilegeEscalation": false, "capabilities": map[string]any{"drop": []any{"ALL"}}}}
	if gpus > 0 {
		container["resources"] = map[string]any{"limits": map[string]any{gpu: gpus}}
	}
	pod := map[string]any{"containers": []any{container}, "automountServiceAccountToken": false,
		"securityContext": map[string]any{"runAsNonRoot": true, "runAsUser": int64(65532),
			"seccompProfile": map[string]any{"type": "RuntimeDefault"}}}
	labels := map[string]any{"app": "asks-for-gpus"}
	object := map[string]any{"metadata": map[string]any{"generateName": "asks-for-gpus-"}}
	switch kind {
	case pods:
		object["apiVersion"], object["kind"], object["spec"] = "v1", "Pod", pod
	case jobs:
		pod["restartPolicy"] = "Never"
		object["apiVersion"], object["kind"], object["spec"] = "batch/v1", "Job", map[string]any{
			"template": map[string]any{"spec": pod},
		}
	default:
		object["apiVersion"], object["kind"] = "apps/v1", "Deployment"
		object["spec"] = map[string]any{
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod},
		}
	}
	return &unstructured.Unstructured{Object: object}
}
