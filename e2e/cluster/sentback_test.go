//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"bflow.dev/bflow/runplan/contract"
)

var validatingWebhooks = schema.GroupVersionResource{
	Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations",
}

// TestARunThatCannotBeLetStartGivesItsGPUsToOthers: a webhook of somebody else refuses what the start of the run needs,
// all the GPUs are its own, and the run of another team waits behind it.
func TestARunThatCannotBeLetStartGivesItsGPUsToOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for the two minutes that a run has for its start; the queue is tried in memory")
	}
	l := newLab(t, alone)
	const team = "bflow-e2e-refused"
	l.team().add(team)
	repair := breakWebhook(l, team)
	kept := l.submit(l.write("kept.yaml", of(team, experiment(allEight, "1s", ""))))[0]
	l.says(team, kept, "Admitted, and cannot be started", time.Minute)
	behind := l.submit(l.write("behind.yaml", experiment(allEight, "1s", "")))[0]
	l.says(team, kept, "Sent back, so that others go first", 4*time.Minute)
	l.team().letStart(namespace, behind)
	l.of(behind).succeeded()
	if pr, err := l.getIn(pipelineRuns, team, kept); err != nil || pr.GetAnnotations()[contract.AnnotationAdmitted] != "" {
		t.Errorf("the run that cannot be let start: %v, %v", pr.GetAnnotations(), err)
	}
	repair()
	l.team().letStart(team, kept)
	l.must("cancel", kept, "-n", team)
	l.quota().awaitFree(beforeForce)
}

// says waits until a run says why it waits.
func (l *lab) says(in, run, want string, limit time.Duration) {
	l.t.Helper()
	l.await(limit, fmt.Sprintf("%s to say %q", run, want), func() string {
		pr, err := l.getIn(pipelineRuns, in, run)
		if err != nil {
			return err.Error()
		}
		if said := pr.GetAnnotations()[contract.AnnotationReason]; !strings.Contains(said, want) {
			return "it says " + said
		}
		return ""
	})
}

// breakWebhook has Secrets of a namespace checked by a webhook that does not answer, and returns what takes it away.
func breakWebhook(l *lab, in string) (repair func()) {
	l.t.Helper()
	at := l.api.Resource(validatingWebhooks)
	webhook := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": in},
		"webhooks": []any{map[string]any{
			"name": "stranger.example.com", "sideEffects": "None", "timeoutSeconds": int64(2),
			"admissionReviewVersions": []any{"v1"},
			"clientConfig":            map[string]any{"service": map[string]any{"name": "nobody", "namespace": in}},
			"namespaceSelector":       map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": in}},
			"rules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE"}, "resources": []any{"secrets"},
			}},
		}},
	}}
	if _, err := at.Create(l.t.Context(), webhook, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
	repair = func() { _ = at.Delete(context.WithoutCancel(l.t.Context()), in, metav1.DeleteOptions{}) }
	l.t.Cleanup(repair)
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "probe"},
	}}
	l.awaitAnswer(time.Minute, "the webhook to be asked", func() string {
		_, err := l.api.Resource(secrets).Namespace(in).Create(l.t.Context(), probe, metav1.CreateOptions{
			DryRun: []string{metav1.DryRunAll},
		})
		if err == nil || !strings.Contains(err.Error(), "webhook") {
			return fmt.Sprintf("a Secret is made: %v", err)
		}
		return ""
	})
	return repair
}
