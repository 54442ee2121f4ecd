package objects_test

import (
	"context"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// live returns a real cluster to try the rules on: one with an installation, so that they exist.
func live(t *testing.T) *rest.Config {
	t.Helper()
	file := os.Getenv("BFLOW_E2E_KUBECONFIG")
	if file == "" {
		t.Skip("BFLOW_E2E_KUBECONFIG names no cluster that was bootstrapped")
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func as(t *testing.T, cfg *rest.Config, name string) dynamic.Interface {
	t.Helper()
	c := rest.CopyConfig(cfg)
	c.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:masters"}}
	client, err := dynamic.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// spec turns the runs of the other test into runs that Tekton's webhook accepts.
const spec = `{status: PipelineRunPending, pipelineSpec: {tasks: [{name: t, taskSpec: {steps: [{name: s, image: ` +
	`busybox, command: ["true"]}]}}]}}`

// TestARealServerKeepsTheRules tries some rows of TestThePolicyOfRuns on a cluster.
func TestARealServerKeepsTheRules(t *testing.T) {
	cfg := live(t)
	const namespace = "bflow-policy-test"
	ctx := context.Background()
	somebodys := as(t, cfg, somebody)
	namespaces := somebodys.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": namespace, "labels": map[string]any{"bflow.dev/enabled": "true"}}}}
	if _, err := namespaces.Create(ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = namespaces.Delete(ctx, namespace, metav1.DeleteOptions{}) })

	runs := schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: "pipelineruns"}
	mine := somebodys.Resource(runs).Namespace(namespace)
	controllers := as(t, cfg, theController).Resource(runs).Namespace(namespace)
	run := func(changes ...string) *unstructured.Unstructured {
		o := edit(t, queued)
		if err := unstructured.SetNestedMap(o.Object, tree(t, spec), "spec"); err != nil {
			t.Fatal(err)
		}
		o.SetNamespace(namespace)
		o.SetLabels(map[string]string{"bflow.dev/plan-hash": "abc", "kueue.x-k8s.io/queue-name": "nowhere"})
		return change(t, o, changes...)
	}
	dry := []string{metav1.DryRunAll}
	created, err := mine.Create(ctx, run(), metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("a run that waits: %v", err)
	}
	t.Cleanup(func() { _ = mine.Delete(ctx, created.GetName(), metav1.DeleteOptions{}) })

	for _, row := range []struct {
		name    string
		by      dynamic.ResourceInterface
		create  bool
		changes []string
		want    string
	}{
		{"a run that does not wait", mine, true, []string{"spec:status"},
			"must be created with spec.status PipelineRunPending"},
		{"a run without a queue", mine, true, []string{"spec:status", "metadata.labels:kueue.x-k8s.io/queue-name"},
			"label namespace bflow-policy-test bflow.dev/allow-unqueued=true"},
		{"a PipelineRun that is none of ours", mine, true, []string{"spec:status", "metadata.labels:bflow.dev/plan-hash"},
			""},
		{"somebody lets it start", mine, false, []string{"spec:status"}, "started by bflow-controller only"},
		{"the controller lets it start", controllers, false,
			[]string{"spec:status", "metadata.annotations:bflow.dev/admitted=now", "metadata.finalizers=bflow.dev/release"}, ""},
		{"somebody cancels it", mine, false, []string{"spec:status=Cancelled"}, ""},
		{"somebody cancels it in a way that runs finally", mine, false, []string{"spec:status=CancelledRunFinally"},
			"is cancelled with spec.status Cancelled"},
		{"somebody changes its needs", mine, false, []string{"metadata.annotations:bflow.dev/requests={}"},
			"never change; start another run"},
		{"a run with another's name", mine, true, []string{"metadata.labels:bflow.dev/run=other"},
			"written by bflow-controller only"},
		{"a run with a key that bflow does not know", mine, true, []string{"metadata.labels:bflow.dev/release=other"},
			"has no label bflow.dev/release"},
		{"somebody says that it is elsewhere", mine, false, []string{"metadata.labels:bflow.dev/target=worker"},
			"label bflow.dev/target of a run names its target"},
		{"somebody says that it is released", mine, false, []string{"metadata.annotations:bflow.dev/released=now"},
			"written by bflow-controller only"},
		{"whoever may delete the namespace takes the finalizer off", mine, false, []string{"metadata.finalizers="}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var err error
			if row.create {
				o := run(row.changes...)
				o.SetName("tiny-2")
				_, err = row.by.Create(ctx, o, metav1.CreateOptions{DryRun: dry})
			} else {
				// Kueue and the controller may have written since.
				now, readErr := mine.Get(ctx, created.GetName(), metav1.GetOptions{})
				if readErr != nil {
					t.Fatal(readErr)
				}
				_, err = row.by.Update(ctx, change(t, now, row.changes...), metav1.UpdateOptions{DryRun: dry})
			}
			if row.want == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("got %v, want a refusal with %q", err, row.want)
			}
		})
	}
}

func tree(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}
